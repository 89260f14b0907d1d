#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/duration.hpp"
#include "cli/typed_line.hpp"
#include "cli/visible.hpp"
#include "property.hpp"

/// What somebody may have typed: a line of the program's, a duration, a name that is shown.
namespace holdfast::fuzz {
namespace {

/// Of the options of `run` some of each kind.
CLI::App& run() {
    static CLI::App app("", "run");
    static const bool made = [] {
        static bool flag = false;
        static std::string text;
        app.add_flag("-n,--nonblock,--nb", flag);
        app.add_flag("-s,--shared", flag);
        app.add_option("-w,--wait,--timeout", text);
        app.add_option("-S,--store", text);
        app.add_option("-j,--slots", text);
        return true;
    }();
    static_cast<void>(made);
    return app;
}

/// Words as a shell hands them over: none has a NUL in it.
std::vector<std::string> words_in(std::string_view bytes) {
    std::vector<std::string> words{"holdfast", "run"};
    words.emplace_back();
    for (const char byte : bytes) {
        if (byte == '\0') {
            words.emplace_back();
        } else {
            words.back() += byte;
        }
    }
    return words;
}

void split_a_line(std::string_view bytes) {
    auto words = words_in(bytes);
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    const cli::TypedLine line = cli::split(pointers, run());
    const std::size_t all = line.ours.size() + line.command.size() + (line.separated ? 1 : 0);
    expect(all == words.size(), "no word is lost");
    expect(line.ours.size() >= 2, "the command's name is ours");
    expect(!cli::with_separator(line).empty(), "a line can be suggested");
}

void no_password_is_suggested(std::string_view bytes) {
    const std::string secret = "S3cr3t";
    std::string word(bytes);
    std::erase(word, '\0');
    if (word.find(secret) != std::string::npos) return;
    const std::string url = "redis://me:" + word + secret + "@db";
    for (const std::string& text : {url, "--store=" + url, word + url, url + " " + word}) {
        expect(cli::without_passwords(text).find(secret) == std::string::npos,
               "no password is quoted");
    }
}

void show(std::string_view bytes) {
    const std::string shown = cli::visible(bytes);
    expect(std::ranges::none_of(shown,
                                [](unsigned char c) { return c < 0x80 && std::iscntrl(c) != 0; }),
           "what is shown steers nothing");
    expect(cli::columns_of(shown) <= shown.size(), "a character takes no more columns than bytes");
}

void read_duration(std::string_view bytes) {
    const auto duration = cli::parse_duration(bytes);
    if (!duration) return;
    expect(duration->count() >= 0, "a duration is not negative");
    expect(!cli::show_duration(*duration).empty() && !cli::show_age(*duration).empty(),
           "a duration can be shown");
}

}  // namespace
}  // namespace holdfast::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace holdfast::fuzz;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    split_a_line(bytes);
    no_password_is_suggested(bytes);
    show(bytes);
    read_duration(bytes);
    return 0;
}
