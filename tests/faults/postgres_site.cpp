#include "faults/sites.hpp"
#include "servers/postgres_server.hpp"
#include "support/proxy_protocol.hpp"

namespace holdfast::test {
namespace {

class PostgresSite final : ServerOfSite<PostgresServer>, public Site {
public:
    explicit PostgresSite(Serving serving)
        : ServerOfSite(serving, PostgresOptions{.tls = serving == Serving::by_tls}),
          Site(its_server_, its_server_.port(), postgres_protocol) {
        its_server_.empty();
        // What makes the tables takes longer than a request.
        connect(url("request_timeout=30s"));
    }

    std::string url_at(const std::string& address) const override {
        return "postgres://postgres@" + address + "/postgres";
    }
    std::string secure_url_at(const std::string& address) const override {
        return url_at(address) + "?tls=on";
    }
    bool is(SeenVerb verb, std::string_view request) const override {
        switch (verb) {
            case SeenVerb::enter:
            case SeenVerb::enter_behind:
                return calls("_enter", request);
            case SeenVerb::renew:
                return calls("_renew", request);
            case SeenVerb::leave:
            case SeenVerb::leave_before:
                return calls("_leave", request);
        }
        return false;
    }
    void end_sessions() override {
        its_server_.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'holdfast'");
    }
    void delete_lock(const std::string&) const override {
        its_server_.query("DELETE FROM holdfast_contenders; DELETE FROM holdfast_lines");
    }

private:
    static bool calls(std::string_view verb, std::string_view request) {
        return request.find("holdfast_") != std::string_view::npos &&
               request.find(verb) != std::string_view::npos && is_carried_out(request);
    }
    /// And is not merely prepared, in which case the end follows the first message.
    static bool is_carried_out(std::string_view request) {
        if (request.front() != 'P') return request.front() == 'B';
        std::size_t size = 0;
        for (const char byte : request.substr(1, 4)) {
            size = size << 8U | static_cast<unsigned char>(byte);
        }
        return request.substr(1 + size).starts_with('B');
    }
};

}  // namespace

std::unique_ptr<Site> make_postgres_site(Serving serving) {
    return std::make_unique<PostgresSite>(serving);
}

}  // namespace holdfast::test
