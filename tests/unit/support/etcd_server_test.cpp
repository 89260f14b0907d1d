#include "servers/etcd_server.hpp"
#include "support/suite.hpp"

namespace holdfast::test {
namespace {

TEST(EtcdServer, ServesWhenItIsThere) {
    const EtcdServer server;
    EXPECT_TRUE(server.serves());
    EXPECT_TRUE(server.leads());
    EXPECT_EQ(server.ctl({"put", "key", "value"}), "OK");
    EXPECT_EQ(server.ctl({"get", "key"}), "key\nvalue");
    EXPECT_GE(server.counted("etcdserverpb.KV", "Put"), 1);
    EXPECT_EQ(server.counted("etcdserverpb.Lease", "LeaseGrant"), 0);
    EXPECT_THROW(static_cast<void>(server.measured("nonsense")), std::runtime_error);
    EXPECT_THROW(static_cast<void>(server.ctl({"nonsense"})), std::runtime_error);
    EXPECT_EQ(server.url(), "etcd://" + server.address());
}

TEST(EtcdServer, ALeaseCanBeAsShortAsASecond) {
    const EtcdServer server;
    EXPECT_NE(server.ctl({"lease", "grant", "1"}).find("TTL(1s)"), std::string::npos);
}

TEST(EtcdServer, ServesByTlsOnlyWhoShowsACertificateWhereItDemandsOne) {
    const EtcdServer server({.tls = true, .client_certificates = true});
    const std::string endpoint =
        "--endpoints=https://127.0.0.1:" + std::to_string(server.tls_port());
    const std::string authority = "--cacert=" + certificates().authority.certificate.string();
    EXPECT_EQ(
        server.ctl({endpoint, authority, "--cert=" + certificates().client.certificate.string(),
                    "--key=" + certificates().client.key.string(), "put", "key", "value"}),
        "OK");
    EXPECT_EQ(server.ctl({"get", "key"}), "key\nvalue") << "and without TLS on the other port";
    EXPECT_THROW(static_cast<void>(server.ctl({endpoint, authority, "--command-timeout=1s",
                                               "--dial-timeout=1s", "get", "key"})),
                 std::runtime_error);
}

}  // namespace
}  // namespace holdfast::test
