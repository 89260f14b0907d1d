#pragma once

#include <hiredis/hiredis.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "stores/redis/redis_scripts.hpp"

/// What a program does that calls hiredis by itself: one blocking connection, one call at a time.
namespace bench {

using RawReply = std::unique_ptr<redisReply, decltype(&freeReplyObject)>;

class RawRedis {
public:
    explicit RawRedis(int port) : context_(redisConnect("127.0.0.1", port), redisFree) {
        if (!context_ || context_->err != 0) throw std::runtime_error("hiredis cannot connect");
    }

    template <std::size_t count>
    RawReply call(const std::array<std::string_view, count>& words) {
        std::array<const char*, count> texts;
        std::array<std::size_t, count> sizes;
        for (std::size_t i = 0; i < count; ++i) {
            texts[i] = words[i].data();
            sizes[i] = words[i].size();
        }
        RawReply reply(static_cast<redisReply*>(
                           redisCommandArgv(context_.get(), count, texts.data(), sizes.data())),
                       freeReplyObject);
        if (!reply) throw std::runtime_error("hiredis: " + std::string(context_->errstr));
        if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error(reply->str);
        return reply;
    }

    void ping() { call(std::array<std::string_view, 1>{"PING"}); }

    /// The digest of a script that the server now knows.
    std::string load(std::string_view script) {
        return call(std::array<std::string_view, 3>{"SCRIPT", "LOAD", script})->str;
    }

    /// How often the server has run a command, scripts' own calls included.
    std::int64_t calls_of(std::string_view command) { return statistic(command, ":calls="); }
    /// How long that took it, in microseconds; of scripts, with all that they call.
    std::int64_t microseconds_of(std::string_view command) { return statistic(command, ",usec="); }
    /// How many scripts it was asked to run. No script runs another.
    std::int64_t requests() { return calls_of("evalsha") + calls_of("eval"); }

private:
    std::int64_t statistic(std::string_view command, std::string_view which) {
        const RawReply reply = call(std::array<std::string_view, 2>{"INFO", "commandstats"});
        const std::string_view text(reply->str, reply->len);
        const auto line = text.find("cmdstat_" + std::string(command) + ":");
        if (line == std::string_view::npos) return 0;
        return std::stoll(std::string(text.substr(text.find(which, line) + which.size(), 20)));
    }

    std::unique_ptr<redisContext, decltype(&redisFree)> context_;
};

/// A mutex of the holdfast layout, taken and given back by two calls with the arguments that
/// Mutex::acquire and Hold::release send.
class RawLock {
public:
    RawLock(RawRedis& redis, const std::string& name, const std::string& owner)
        : redis_(redis),
          enter_(redis.load(holdfast::redis::scripts::holdfast_enter)),
          leave_(redis.load(holdfast::redis::scripts::holdfast_leave)),
          keys_(keys_of(name)) {
        std::array<char, 256> host{};
        gethostname(host.data(), host.size() - 1);
        for (const std::string& text :
             {std::string("30000"), std::string("0"), std::string("1000000000"),
              std::string("1000000000"), std::string("f"), std::string(32, 'c'), owner,
              std::string(host.data()), std::to_string(getpid())}) {
            if (text.size() < 32) {
                terms_ += static_cast<char>(0xa0U | text.size());
            } else {
                terms_ += '\xd9';
                terms_ += static_cast<char>(text.size());
            }
            terms_ += text;
        }
    }

    void acquire() {
        std::snprintf(nonce_.data(), nonce_.size(), "%016x%016x", static_cast<unsigned>(getpid()),
                      ++nonces_);
        const std::string entrant = nonce_.data() + terms_;
        const auto reply = redis_.call(
            std::array<std::string_view, 12>{"EVALSHA", enter_, "6", keys_[0], keys_[1], keys_[2],
                                             keys_[3], keys_[4], keys_[5], entrant, "29999", "w0"});
        expect_fence(*reply);
    }
    void release() {
        const auto reply = redis_.call(
            std::array<std::string_view, 11>{"EVALSHA", leave_, "6", keys_[0], keys_[1], keys_[2],
                                             keys_[3], keys_[4], keys_[5], nonce_.data(), "0"});
        expect_fence(*reply);
    }

private:
    /// As long as those of the store, in a bucket that no name falls into.
    static std::array<std::string, 6> keys_of(const std::string& name) {
        const std::string tag = "{holdfast/raw}";
        const std::string line = tag + "holdfast/" + name;
        return {
            line,          tag + "#fence", line + "#holders", line + "#waiters", line + "#order",
            line + "#left"};
    }

    static void expect_fence(const redisReply& reply) {
        if (reply.type != REDIS_REPLY_INTEGER) {
            throw std::runtime_error("the raw lock was not free");
        }
    }

    RawRedis& redis_;
    const std::string enter_;
    const std::string leave_;
    const std::array<std::string, 6> keys_;
    std::string terms_;  ///< in MessagePack
    unsigned nonces_ = 0;
    std::array<char, 33> nonce_{};
};

}  // namespace bench
