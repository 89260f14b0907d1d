// Its calls that wait for their answers.
#define THREADED
#include <zookeeper/zookeeper.h>

#include <stdexcept>

#include "faults/planted_values.hpp"
#include "servers/zookeeper_server.hpp"
#include "support/await.hpp"

/// Among the nodes of a line in ZooKeeper.
namespace holdfast::test {
namespace {

struct Close {
    void operator()(zhandle_t* handle) const { zookeeper_close(handle); }
};

const std::string uuid = "12345678-1234-1234-1234-123456789abc";

class ZookeeperGround final : public Ground {
public:
    ZookeeperGround() {
        zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
        handle_.reset(zookeeper_init(
            server_.address().c_str(), [](zhandle_t*, int, int, const char*, void*) {}, 10'000,
            nullptr, nullptr, 0));
        if (!await([&] { return zoo_state(handle_.get()) == ZOO_CONNECTED_STATE; })) {
            throw std::runtime_error("ZooKeeper does not answer");
        }
    }
    std::string url() const override {
        return "zookeeper://" + server_.address() + root_ + "?tick=500ms";
    }
    /// What clients have left in line leaves it by itself, so that all may be removed.
    void clear() const override { remove(root_ + "/holdfast/orders"); }

    std::vector<Planted> values() const override {
        std::vector<Planted> all;
        for (const std::string& name :
             {"_c_" + uuid + "-lock-", "_c_" + uuid + "-__READ__",
              "_c_" + uuid + "-permit-0-of-0-lock-",
              "_c_" + uuid + "-permit-99999999999999999999-of-99999999999999999999-lock-",
              "_c_" + uuid + "-permit-2-of-5-lock-", std::string("x-lock-"),
              std::string("\xe2\x80\xae-lock-"), std::string("nonsense")}) {
            all.push_back(child(name, "", ZOO_SEQUENCE));
        }
        for (const std::string& note : notes()) {
            all.push_back(child("_c_" + uuid + "-lock-", note, ZOO_SEQUENCE));
            all.push_back(node_itself(note, 0));
            all.push_back(node_itself(note, ZOO_EPHEMERAL));
        }
        for (const std::string number :
             {"0000000000", "2147483647", "-2147483648", "-000000001", "2147483653", "9999999999",
              "99999999999999999999", "0000000000000000000000001"}) {
            all.push_back(child("_c_" + uuid + "-lock-" + number, "", 0));
        }
        return all;
    }

private:
    static std::vector<std::string> notes() {
        std::vector<std::string> all(texts.begin(), texts.end());
        for (const std::string edge :
             {"-1", "9223372036854775807", "-9223372036854775808", "99999999999999999999", "nan"}) {
            all.push_back("holdfast\nowner=\x1b[2J\\nx\nhost=\xff\npid=" + edge + "\nshare=" +
                          edge + "/" + edge + "\nlease_ms=" + edge + "\nnonce=" + edge + "\n");
        }
        return all;
    }

    Planted child(const std::string& name, const std::string& data, int flags) const {
        return {name + " " + std::to_string(data.size()), [this, name, data, flags] {
                    create(root_ + "/holdfast/orders", "", 0);
                    create(root_ + "/holdfast/orders/" + name, data, flags);
                }};
    }
    /// Where there should be a container.
    Planted node_itself(const std::string& data, int flags) const {
        return {"itself " + std::to_string(data.size()),
                [this, data, flags] { create(root_ + "/holdfast/orders", data, flags); }};
    }

    void create(const std::string& path, const std::string& data, int flags) const {
        const auto slash = path.rfind('/');
        if (slash > 0) make_parents(path.substr(0, slash));
        zoo_create(handle_.get(), path.c_str(), data.data(), static_cast<int>(data.size()),
                   &ZOO_OPEN_ACL_UNSAFE, flags, nullptr, 0);
    }
    void make_parents(const std::string& path) const {
        const auto slash = path.rfind('/');
        if (slash > 0) make_parents(path.substr(0, slash));
        zoo_create(handle_.get(), path.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, nullptr, 0);
    }
    void remove(const std::string& path) const {
        String_vector children{};
        if (zoo_get_children(handle_.get(), path.c_str(), 0, &children) != ZOK) return;
        for (int i = 0; i < children.count; ++i) {
            remove(path + "/" + children.data[i]);
        }
        deallocate_String_vector(&children);
        zoo_delete(handle_.get(), path.c_str(), -1);
    }

    ZookeeperServer& server_ = ZookeeperServer::shared();
    std::unique_ptr<zhandle_t, Close> handle_;
    const std::string root_ = "/planted";
};

}  // namespace

std::unique_ptr<Ground> make_zookeeper_ground() {
    return std::make_unique<ZookeeperGround>();
}

}  // namespace holdfast::test
