#include "stores/module.hpp"

#include <dlfcn.h>

#include <array>
#include <climits>
#include <filesystem>
#include <string>
#include <system_error>

#include <holdfast/error.hpp>
#include <holdfast/version.hpp>

#define HOLDFAST_TEXT(word) #word
#define HOLDFAST_TEXT_OF(macro) HOLDFAST_TEXT(macro)

namespace holdfast::inline v0 {
namespace {

constexpr const char* entrance_name = HOLDFAST_TEXT_OF(HOLDFAST_MODULE_ENTRANCE);

[[noreturn]] void refuse(const StoreUrl& url, const std::string& sentence) {
    throw Error(errc::bad_configuration, url.scheme + ": " + sentence);
}

/// Where the library with this code was when it was loaded: the loader may know it by a path that
/// was relative then, and the process may have changed its folder since.
std::filesystem::path path_of_library() {
    static constexpr char anywhere_in_it = 0;
    Dl_info library{};
    void* handle = nullptr;
    std::array<char, PATH_MAX> folder{};
    if (dladdr1(&anywhere_in_it, &library, &handle, RTLD_DL_LINKMAP) == 0 ||
        dlinfo(handle, RTLD_DI_ORIGIN, folder.data()) != 0) {
        return {};
    }
    return folder.data() / std::filesystem::path(library.dli_fname).filename();
}

/// Beside the library itself, also where a link to it stands elsewhere.
std::filesystem::path path_of_module(std::string_view store) {
    std::error_code ignored;
    const std::filesystem::path library = path_of_library();
    const std::filesystem::path real = std::filesystem::canonical(library, ignored);
    return (real.empty() ? library : real).parent_path() / "holdfast" /
           (std::string(store) + ".so");
}

/// Loads a module, which is never closed: its threads, and objects of its classes, outlive any
/// moment at which we could.
void* load(const std::filesystem::path& path, const StoreUrl& url) {
    if (void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return module;
    const std::string why = dlerror();
    if (!std::filesystem::exists(path)) {
        refuse(url, path.string() +
                        ", the code for this store, is missing; install it, of holdfast " +
                        version());
    }
    refuse(url, "the code for this store cannot be loaded (" + why +
                    "); install what is missing there, or holdfast " + version() + " again");
}

}  // namespace

std::shared_ptr<Store> open_module(std::string_view store, const StoreUrl& url) {
    const std::filesystem::path path = path_of_module(store);
    auto* const open = reinterpret_cast<ModuleEntrance*>(dlsym(load(path, url), entrance_name));
    std::shared_ptr<Store> opened;
    if (open == nullptr || !open(version(), url, opened)) {
        refuse(url, path.string() + ", the code for this store, is not of holdfast " + version() +
                        ", as the library is; install both of one version");
    }
    return opened;
}

}  // namespace holdfast::inline v0
