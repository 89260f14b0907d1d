#include "stores/postgres/failures.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::postgres {
namespace {

errc code_of(const std::string& message) {
    return refused_connection(message, {}).code;
}

std::string failed(const std::string& why) {
    return "connection to server at \"127.0.0.1\", port 5432 failed: " + why;
}

TEST(APostgresConnection, IsHopelessByTheServersCodeWhateverItsLanguage) {
    for (const std::string why :
         {"FATAL:  28P01: password authentication failed for user \"app\"",
          "SCHWERWIEGEND:  28P01: Passwort-Authentifizierung fehlgeschlagen",
          "FATAL:  28000: no pg_hba.conf entry for host \"127.0.0.1\"",
          "FATAL:  3D000: database \"nowhere\" does not exist",
          "FATAL:  42501: permission denied for database \"shop\""}) {
        EXPECT_EQ(code_of(failed(why)), errc::bad_configuration) << why;
    }
}

TEST(APostgresConnection, IsHopelessByOurOwnFiles) {
    for (const std::string why : {"root certificate file \"/nowhere\" does not exist",
                                  "SSL error: certificate verify failed",
                                  "server does not support SSL, but SSL was required",
                                  "fe_sendauth: no password supplied"}) {
        EXPECT_EQ(code_of(failed(why)), errc::bad_configuration) << why;
    }
}

TEST(APostgresConnection, IsAnsweredAlsoByAFewCharactersWhereTheCodeWouldBe) {
    for (const std::string why : {"FATAL:  ", "FATAL:  28", "FATAL:  2800", "FATAL:  28P01"}) {
        EXPECT_EQ(code_of(failed(why)), errc::unreachable) << why;
    }
}

TEST(APostgresConnection, MayDoBetterNextTime) {
    for (const std::string why :
         {"Connection refused", "FATAL:  57P03: the database system is starting up",
          "FATAL:  53300: sorry, too many clients already",
          "SSL SYSCALL error: Connection reset by peer", "SSL error: unexpected eof while reading",
          "SSL connection has been closed unexpectedly"}) {
        EXPECT_EQ(code_of(failed(why)), errc::unreachable) << why;
    }
}

}  // namespace
}  // namespace holdfast::postgres
