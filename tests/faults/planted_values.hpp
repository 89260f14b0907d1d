#pragma once

#include <array>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

/// What somebody else may have written where a store looks for what is its own.
namespace holdfast::test {

/// One value, and how it comes into the store.
struct Planted {
    std::string what;
    std::function<void()> plant;
};

/// A real store with nothing in it, where values are planted under the lock `orders`.
class Ground {
public:
    virtual ~Ground() = default;
    virtual std::string url() const = 0;
    /// Nothing is there any more, but for what makes a store of it.
    virtual void clear() const = 0;
    virtual std::vector<Planted> values() const = 0;
};

/// A kind of ground.
struct GroundOf {
    std::string name;
    std::unique_ptr<Ground> (*make)();
    /// Who gets in beside a holder whose lock was overwritten is told apart by its fence.
    bool has_fences = true;

    friend void PrintTo(const GroundOf& one, std::ostream* out) { *out << one.name; }
};

std::unique_ptr<Ground> make_redis_ground();
std::unique_ptr<Ground> make_plain_redis_ground();
std::unique_ptr<Ground> make_redisson_ground();
std::unique_ptr<Ground> make_redlock_ground();
std::unique_ptr<Ground> make_zookeeper_ground();
std::unique_ptr<Ground> make_etcd_ground();
std::unique_ptr<Ground> make_postgres_ground();
std::unique_ptr<Ground> make_postgres_shedlock_ground();
std::unique_ptr<Ground> make_mysql_ground();
std::unique_ptr<Ground> make_mysql_shedlock_ground();
std::unique_ptr<Ground> make_memcached_ground();
std::unique_ptr<Ground> make_plain_memcached_ground();

/// Numbers at the edge, and what is none.
inline const std::array<std::string, 16> edges{"0",
                                               "-1",
                                               "-1000000000",
                                               "9007199254740991",
                                               "9007199254740992",
                                               "nan",
                                               "inf",
                                               "9223372036854775807",
                                               "-9223372036854775808",
                                               "18446744073709551616",
                                               "1e9",
                                               "0x10",
                                               "99999999999999999999",
                                               "",
                                               "\x1b[2J\n\a",
                                               "-inf"};
/// Texts that would steer a terminal, are no UTF-8, or have no end.
inline const std::array<std::string, 4> texts{"\x1b[2J\n\r\x7f", std::string("\0\xff\xfe\0", 4),
                                              std::string(200'000, 'x'), ""};

}  // namespace holdfast::test
