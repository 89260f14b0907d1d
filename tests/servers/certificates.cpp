#include "servers/certificates.hpp"

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/child.hpp"
#include "support/process_wide.hpp"
#include "support/temporary_folder.hpp"

namespace holdfast::test {

namespace {

constexpr const char* here = "subjectAltName=IP:127.0.0.1,DNS:localhost";
constexpr const char* elsewhere = "subjectAltName=DNS:elsewhere.example";

/// The folder they are in, and how they are made there.
class Workshop {
public:
    Workshop() {
        std::ofstream(file("openssl.cnf")) << "[req]\ndistinguished_name = name\n[name]\n";
        made_.authority = make_authority("authority");
        made_.server = make("server", made_.authority, here);
        made_.elsewhere = make("elsewhere", made_.authority, elsewhere);
        made_.client = make("client", made_.authority, "extendedKeyUsage=clientAuth");
        made_.other_authority = make_authority("other_authority");
        made_.other_server = make("other_server", made_.other_authority, here);
        made_.stranger = make("stranger", made_.other_authority, "extendedKeyUsage=clientAuth");
    }
    const Certificates& made() const { return made_; }

private:
    std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }

    Certificate make_authority(const std::string& name) const {
        return request(name, {"-addext", "basicConstraints=critical,CA:TRUE", "-addext",
                              "keyUsage=critical,keyCertSign,cRLSign"});
    }
    Certificate make(const std::string& name, const Certificate& authority,
                     const std::string& extension) const {
        return request(name, {"-CA", authority.certificate, "-CAkey", authority.key, "-addext",
                              "basicConstraints=critical,CA:FALSE", "-addext", extension});
    }

    Certificate request(const std::string& name, const std::vector<std::string>& more) const {
        Certificate made{.certificate = file(name + ".crt"), .key = file(name + ".key")};
        std::vector<std::string> arguments = {
            "openssl", "req", "-x509", "-batch", "-nodes", "-days", "2",
            // Far quicker to make than RSA's.
            "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            // What the machine's own configuration adds would be there twice.
            "-config", file("openssl.cnf"), "-subj", "/CN=holdfast test " + name, "-keyout",
            made.key, "-out", made.certificate};
        arguments.insert(arguments.end(), more.begin(), more.end());
        run(arguments);
        return made;
    }

    void run(const std::vector<std::string>& arguments) const {
        std::vector<std::string> quietly = {"sh", "-c", R"(log=$1; shift; exec "$@" 2>"$log")",
                                            "sh", file("log")};
        quietly.insert(quietly.end(), arguments.begin(), arguments.end());
        if (Child(quietly).ended() == 0) return;
        std::string said;
        std::getline(std::ifstream(file("log")), said, '\0');
        throw std::runtime_error("openssl cannot make a certificate: " + said);
    }

    TemporaryFolder folder_;
    Certificates made_;
};

}  // namespace

const Certificates& certificates() {
    return ProcessWide<Workshop>::get().made();
}

}  // namespace holdfast::test
