#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <utility>

#include <holdfast/error.hpp>

#include "stores/net/socket.hpp"

namespace holdfast::inline v0::net {

namespace {

template <auto Free>
struct With {
    template <class T>
    void operator()(T* object) const noexcept {
        Free(object);
    }
};
using Context = std::unique_ptr<SSL_CTX, With<SSL_CTX_free>>;
using Secrecy = std::unique_ptr<SSL, With<SSL_free>>;

unsigned long take_error() {
    const unsigned long error = ERR_get_error();
    ERR_clear_error();
    return error;
}

std::string in_words(unsigned long error) {
    const char* const reason = error == 0 ? nullptr : ERR_reason_error_string(error);
    return reason == nullptr ? "TLS failed" : reason;
}

/// What both sides would say again: of certificates, of versions, and where nobody speaks TLS.
constexpr std::array lasting_reasons{SSL_R_CERTIFICATE_VERIFY_FAILED,
                                     SSL_R_WRONG_VERSION_NUMBER,
                                     SSL_R_PACKET_LENGTH_TOO_LONG,
                                     SSL_R_HTTP_REQUEST,
                                     SSL_R_UNSUPPORTED_PROTOCOL,
                                     SSL_R_NO_PROTOCOLS_AVAILABLE,
                                     SSL_R_TLSV1_ALERT_PROTOCOL_VERSION,
                                     SSL_R_TLSV1_ALERT_INSUFFICIENT_SECURITY,
                                     SSL_R_TLSV1_ALERT_UNKNOWN_CA,
                                     SSL_R_TLSV1_ALERT_ACCESS_DENIED,
                                     SSL_R_TLSV1_UNRECOGNIZED_NAME,
                                     SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED,
                                     SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE,
                                     SSL_R_SSLV3_ALERT_BAD_CERTIFICATE,
                                     SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
                                     SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED,
                                     SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN,
                                     SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
                                     SSL_R_SSLV3_ALERT_NO_CERTIFICATE};

/// Not of a connection that merely broke, nor of a side that has trouble of its own.
bool will_recur(unsigned long error) {
    return ERR_GET_LIB(error) == ERR_LIB_SSL &&
           std::ranges::find(lasting_reasons, ERR_GET_REASON(error)) != lasting_reasons.end();
}

[[noreturn]] void refuse(const Address& address, const std::string& what) {
    throw Error(errc::bad_configuration,
                address.shown() + ": " + what + " cannot be used (" + in_words(take_error()) + ")");
}

void trust(SSL_CTX* context, const Address& address) {
    const bool loaded = address.tls_ca.empty() ? SSL_CTX_set_default_verify_paths(context) == 1
                                               : SSL_CTX_load_verify_locations(
                                                     context, address.tls_ca.c_str(), nullptr) == 1;
    if (!loaded) refuse(address, "tls_ca '" + address.tls_ca + "'");
}

void identify(SSL_CTX* context, const Address& address) {
    if (address.tls_cert.empty()) return;
    if (SSL_CTX_use_certificate_chain_file(context, address.tls_cert.c_str()) != 1) {
        refuse(address, "tls_cert '" + address.tls_cert + "'");
    }
    if (SSL_CTX_use_PrivateKey_file(context, address.tls_key.c_str(), SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context) != 1) {
        refuse(address, "tls_key '" + address.tls_key + "'");
    }
}

Context context_for(const Address& address) {
    Context context(SSL_CTX_new(TLS_client_method()));
    if (!context) throw std::bad_alloc();
    SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    // What is sent again after a pause may have moved, and need not go out whole.
    SSL_CTX_set_mode(context.get(),
                     SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_ENABLE_PARTIAL_WRITE);
    trust(context.get(), address);
    identify(context.get(), address);
    return context;
}

/// The certificate must be for the host that the URL names.
void expect_host(SSL* session, const std::string& host) {
    std::array<unsigned char, sizeof(in6_addr)> ignored{};
    const bool numeric = inet_pton(AF_INET, host.c_str(), ignored.data()) == 1 ||
                         inet_pton(AF_INET6, host.c_str(), ignored.data()) == 1;
    if (numeric) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host.c_str());
    } else {
        SSL_set1_host(session, host.c_str());
        SSL_set_tlsext_host_name(session, host.c_str());
    }
}

/// OpenSSL's way to the plain socket. Its own writes without MSG_NOSIGNAL, so that a connection
/// which the server has ended would end the process.
struct Bridge {
    static int write(BIO* bio, const char* bytes, int size) {
        BIO_clear_retry_flags(bio);
        const auto transfer = below(bio).write({bytes, static_cast<std::size_t>(size)});
        if (transfer.outcome == Socket::Outcome::done) return static_cast<int>(transfer.bytes);
        if (transfer.outcome == Socket::Outcome::would_block) BIO_set_retry_write(bio);
        return -1;
    }
    static int read(BIO* bio, char* buffer, int size) {
        BIO_clear_retry_flags(bio);
        const auto transfer = below(bio).read(buffer, static_cast<std::size_t>(size));
        if (transfer.outcome == Socket::Outcome::done) return static_cast<int>(transfer.bytes);
        if (transfer.outcome == Socket::Outcome::closed) return 0;
        if (transfer.outcome == Socket::Outcome::would_block) BIO_set_retry_read(bio);
        return -1;
    }
    static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH; }

    /// Made once and never given back: it is to be there for every session.
    static const BIO_METHOD* method() {
        static const BIO_METHOD* const made = [] {
            BIO_METHOD* const fresh =
                BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "holdfast socket");
            if (fresh == nullptr) throw std::bad_alloc();
            BIO_meth_set_write(fresh, write);
            BIO_meth_set_read(fresh, read);
            BIO_meth_set_ctrl(fresh, control);
            return fresh;
        }();
        return made;
    }
    static Socket& below(BIO* bio) { return *static_cast<Socket*>(BIO_get_data(bio)); }
};

void put_over(SSL* session, Socket& plain) {
    BIO* const bio = BIO_new(Bridge::method());
    if (bio == nullptr) throw std::bad_alloc();
    BIO_set_data(bio, &plain);
    BIO_set_init(bio, 1);
    SSL_set_bio(session, bio, bio);
}

class TlsSocket final : public Socket {
public:
    TlsSocket(const Address& address, std::unique_ptr<Socket> plain)
        : plain_(std::move(plain)),
          context_(context_for(address)),
          session_(SSL_new(context_.get())) {
        if (!session_) throw std::bad_alloc();
        expect_host(session_.get(), address.host);
        put_over(session_.get(), *plain_);
        SSL_set_connect_state(session_.get());
    }

    Transfer establish() override {
        if (!connected_) {
            Transfer transfer = plain_->establish();
            if (transfer.outcome != Outcome::done) return transfer;
            connected_ = true;
        }
        const std::lock_guard guard(mutex_);
        ERR_clear_error();
        Transfer transfer = outcome_of(SSL_do_handshake(session_.get()));
        if (transfer.outcome != Outcome::failed) return transfer;
        const long verdict = SSL_get_verify_result(session_.get());
        if (verdict != X509_V_OK) {
            transfer.why = std::string("its certificate was refused: ") +
                           X509_verify_cert_error_string(verdict) +
                           "; check the host's name in the URL, and tls_ca";
            transfer.hopeless = true;
        } else if (transfer.hopeless) {
            transfer.why =
                "it does not speak TLS with us (" + transfer.why + "); check host and port";
        }
        return transfer;
    }
    Transfer read(char* buffer, std::size_t size) override {
        const std::lock_guard guard(mutex_);
        ERR_clear_error();
        return outcome_of(SSL_read(session_.get(), buffer, static_cast<int>(size)));
    }
    Transfer write(std::string_view bytes) override {
        const std::lock_guard guard(mutex_);
        ERR_clear_error();
        return outcome_of(SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size())));
    }
    short wanted() const noexcept override { return wanted_; }
    int descriptor() const noexcept override { return plain_->descriptor(); }
    void shut_down() noexcept override { plain_->shut_down(); }

private:
    /// SSL_get_error also looks at the thread's queue of errors, and threads are the users' own: so
    /// what somebody else left there is cleared before each call.
    Transfer outcome_of(int result) {
        if (result > 0) return {.bytes = static_cast<std::size_t>(result)};
        switch (SSL_get_error(session_.get(), result)) {
            case SSL_ERROR_WANT_READ:
                wanted_ = POLLIN;
                return {.outcome = Outcome::would_block};
            case SSL_ERROR_WANT_WRITE:
                wanted_ = POLLOUT;
                return {.outcome = Outcome::would_block};
            case SSL_ERROR_ZERO_RETURN:
                return {.outcome = Outcome::closed};
            default:
                const unsigned long error = take_error();
                return {.outcome = Outcome::failed,
                        .why = in_words(error),
                        .hopeless = will_recur(error)};
        }
    }

    std::unique_ptr<Socket> plain_;
    Context context_;
    Secrecy session_;
    /// A session is for one thread at a time, in either direction.
    std::mutex mutex_;
    bool connected_ = false;
    short wanted_ = POLLOUT;
};

}  // namespace

std::shared_ptr<Socket> secured(const Address& address, std::unique_ptr<Socket> plain) {
    return std::make_shared<TlsSocket>(address, std::move(plain));
}

void check_certificates(const Address& address) {
    context_for(address);
}

}  // namespace holdfast::inline v0::net
