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
        ask(words);
        return hear();
    }

    /// To be answered by hear(), in this order. Sent with flush(), or when an answer is awaited.
    template <std::size_t count>
    void ask(const std::array<std::string_view, count>& words) {
        std::array<const char*, count> texts;
        std::array<std::size_t, count> sizes;
        for (std::size_t i = 0; i < count; ++i) {
            texts[i] = words[i].data();
            sizes[i] = words[i].size();
        }
        redisAppendCommandArgv(context_.get(), count, texts.data(), sizes.data());
    }
    void flush() {
        for (int done = 0; done == 0;) {
            if (redisBufferWrite(context_.get(), &done) != REDIS_OK) fail();
        }
    }
    RawReply hear() {
        void* answer = nullptr;
        if (redisGetReply(context_.get(), &answer) != REDIS_OK) fail();
        RawReply reply(static_cast<redisReply*>(answer), freeReplyObject);
        if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error(reply->str);
        return reply;
    }

    void ping() { call(std::array<std::string_view, 1>{"PING"}); }

    /// The server has the script as a function of this name from now on.
    void load(const std::string& name, std::string_view script) {
        const std::string library = "#!lua name=" + name + "\nredis.register_function('" + name +
                                    "', function(KEYS, ARGV) " +
                                    std::string(script.substr(script.find('\n'))) + " end)";
        call(std::array<std::string_view, 4>{"FUNCTION", "LOAD", "REPLACE", library});
    }

    /// How often the server has run a command, scripts' own calls included.
    std::int64_t calls_of(std::string_view command) { return statistic(command, ":calls="); }
    /// How long that took it, in microseconds; of scripts, with all that they call.
    std::int64_t microseconds_of(std::string_view command) { return statistic(command, ",usec="); }
    /// How many scripts it was asked to run, in whatever way. No script runs another.
    std::int64_t requests() { return of_scripts(&RawRedis::calls_of); }
    /// How long they took it.
    std::int64_t microseconds_of_scripts() { return of_scripts(&RawRedis::microseconds_of); }

private:
    [[noreturn]] void fail() const {
        throw std::runtime_error("hiredis: " + std::string(context_->errstr));
    }
    std::int64_t of_scripts(std::int64_t (RawRedis::*figure)(std::string_view)) {
        return (this->*figure)("fcall") + (this->*figure)("evalsha") + (this->*figure)("eval");
    }
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
        : redis_(redis), line_("{holdfast/raw}holdfast/" + name) {
        redis.load("raw_enter", holdfast::redis::scripts::holdfast_enter);
        redis.load("raw_leave", holdfast::redis::scripts::holdfast_leave);
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
        ask_to_acquire();
        acquired();
    }
    void release() {
        ask_to_release();
        released();
    }

    // The same in two steps: several may be asked before the first is answered.
    void ask_to_acquire() {
        std::snprintf(nonce_.data(), nonce_.size(), "%016x%016x", static_cast<unsigned>(getpid()),
                      ++nonces_);
        entrant_ = nonce_.data() + terms_;
        redis_.ask(std::array<std::string_view, 8>{"FCALL", "raw_enter", "2", line_, fence_,
                                                   entrant_, "29999", "w0"});
    }
    void acquired() { expect(redis_.hear()->integer > 3); }
    void ask_to_release() {
        redis_.ask(std::array<std::string_view, 7>{"FCALL", "raw_leave", "2", line_, fence_,
                                                   nonce_.data(), "0"});
    }
    void released() { expect(redis_.hear()->integer == 3); }

private:
    static void expect(bool as_alone) {
        if (!as_alone) throw std::runtime_error("somebody else has the raw lock");
    }

    RawRedis& redis_;
    // As long as those of the store, in a bucket that no name falls into.
    const std::string line_;
    const std::string fence_ = "{holdfast/raw}#fence";
    std::string terms_;  ///< in MessagePack
    std::string entrant_;
    unsigned nonces_ = 0;
    std::array<char, 33> nonce_{};
};

}  // namespace bench
