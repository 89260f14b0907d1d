#include "faults/planted_values.hpp"
#include "servers/etcd_server.hpp"

/// Among the keys of a line in etcd.
namespace holdfast::test {
namespace {

const std::string note = "holdfast\nowner=\x1b[2J\\nx\nhost=\xff\npid=";

class EtcdGround final : public Ground {
public:
    std::string url() const override { return server_.url(); }
    void clear() const override { server_.clear(); }
    std::vector<Planted> values() const override {
        std::vector<Planted> all;
        const std::string number = lease_.substr(lease_.find_first_not_of('0'));
        for (const std::string& name : {number, number + "-1", std::string("-"), std::string("0-1"),
                                        std::string("ffffffffffffffffffff-1"), number + "-1/x",
                                        std::string("\x1b[2J-1"), std::string()}) {
            all.push_back(put("holdfast/orders/" + name, note + "1\nshare=2/5\n"));
        }
        for (const std::string edge : {"-1", "9223372036854775808", "nan", "\x1b"}) {
            all.push_back(put("holdfast/orders/" + number + "-1",
                              note + edge + "\nshare=" + edge + "/" + edge + "\nlease_ms=" + edge +
                                  "\nnonce=" + edge + "\n"));
        }
        all.push_back(put("holdfast/orders/" + number, std::string(100'000, 'x')));
        all.push_back(put("holdfast/orders!/x", "\x1b"));
        all.push_back({"without a lease", [this, number] {
                           server_.ctl({"put", "holdfast/orders/" + number + "-1", note + "1\n"});
                       }});
        return all;
    }

private:
    Planted put(const std::string& key, const std::string& value) const {
        return {"put " + key, [this, key, value] {
                    server_.ctl({"put", "--lease", lease_, "--", key, value});
                }};
    }
    std::string granted() const {
        const std::string said = server_.ctl({"lease", "grant", "600"});
        const auto begin = said.find(' ') + 1;
        return said.substr(begin, said.find(' ', begin) - begin);
    }

    EtcdServer& server_ = EtcdServer::shared();
    const std::string lease_ = granted();
};

}  // namespace

std::unique_ptr<Ground> make_etcd_ground() {
    return std::make_unique<EtcdGround>();
}

}  // namespace holdfast::test
