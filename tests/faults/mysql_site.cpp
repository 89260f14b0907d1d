#include <sstream>

#include "faults/sites.hpp"
#include "servers/mariadb_server.hpp"
#include "support/proxy_protocol.hpp"

namespace holdfast::test {
namespace {

class MysqlSite final : ServerOfSite<MariadbServer>, public Site {
public:
    explicit MysqlSite(Serving serving)
        : ServerOfSite(serving, MariadbOptions{.tls = serving == Serving::by_tls}),
          Site(its_server_, its_server_.port(), mysql_protocol) {
        its_server_.empty();
        // What makes the tables takes longer than a request.
        connect(url("request_timeout=30s"));
    }

    std::string url_at(const std::string& address) const override {
        return "mysql://root@" + address + "/locks";
    }
    std::string secure_url_at(const std::string& address) const override {
        return url_at(address) + "?tls=on";
    }
    /// A lone contender has the seat of its line, by a statement that does nothing when somebody is
    /// there: then it calls the procedure.
    bool is(SeenVerb verb, std::string_view request) const override {
        const auto says = [&](std::string_view words) {
            return request.find(words) != std::string_view::npos;
        };
        const bool calls = says("CALL holdfast_");
        switch (verb) {
            case SeenVerb::enter:
                return (calls && says("_enter")) || says(",seat_client=");
            case SeenVerb::enter_behind:
                return calls && says("_enter");
            case SeenVerb::renew:
                return (calls && says("_renew")) || says(",seat_told_to=''");
            case SeenVerb::leave:
                return (calls && says("_leave")) || says("SET seat_nonce='',");
            case SeenVerb::leave_before:
                return calls && says("_leave");
        }
        return false;
    }
    void end_sessions() override {
        std::istringstream numbers(
            its_server_.query("SELECT id FROM information_schema.processlist WHERE db = 'locks'"));
        for (std::string number; std::getline(numbers, number);) {
            try {
                its_server_.query("KILL " + number);
            } catch (const std::runtime_error&) {
                // It ended by itself meanwhile.
            }
        }
    }
    void delete_lock(const std::string&) const override {
        its_server_.query(
            "DELETE FROM locks.holdfast_contenders; DELETE FROM locks.holdfast_lines");
    }
};

}  // namespace

std::unique_ptr<Site> make_mysql_site(Serving serving) {
    return std::make_unique<MysqlSite>(serving);
}

}  // namespace holdfast::test
