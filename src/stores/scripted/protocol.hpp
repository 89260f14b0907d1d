#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "port/contender.hpp"
#include "port/failure.hpp"
#include "port/store.hpp"
#include "stores/scripted/news.hpp"
#include "stores/scripted/waiters.hpp"

namespace holdfast::inline v0::scripted {

/// Renewals that travel as one request, and are answered in this order.
template <class Request>
struct Batch {
    Request request;
    std::vector<std::size_t> which;
};

/// One of the requests of a listing, and what it is about: a word of the listing's own.
template <class Request>
struct Inquiry {
    Request request;
    std::string about = {};
};

/// What a listing asks for and has found so far, without I/O. For one thread at a time.
template <class T>
concept Listing = requires(T listing, const std::string& about, typename T::Reply reply) {
    { listing.start() } -> std::same_as<std::vector<typename T::Inquiry>>;
    /// What is to be asked further.
    { listing.take(about, std::move(reply)) } -> std::same_as<std::vector<typename T::Inquiry>>;
    /// Sorted by resource, once all was answered.
    { listing.lines() } -> std::same_as<Result<std::vector<Line>>>;
};

/// What can be asked of a server, as requests. Constant: all members may be called from any thread.
template <class T, class Request>
concept Requests = requires(const T& requests, std::span<const Contender> contenders,
                            std::span<const Ticket> tickets, std::span<const std::size_t> which,
                            const Contender& contender, const Ticket& ticket,
                            const Extension& extension, const std::string& resource,
                            std::chrono::milliseconds time) {
    { requests.capabilities() } -> std::same_as<Capabilities>;
    /// Why there cannot be such a name, contender or lease, in a sentence; nothing when there can.
    { requests.objection_to(resource) } -> std::same_as<std::optional<std::string>>;
    { requests.objection_to(contender) } -> std::same_as<std::optional<std::string>>;
    { requests.objection_to(ticket, time) } -> std::same_as<std::optional<std::string>>;

    /// Asks for nothing, so that a server that cannot be used is found out at once.
    { requests.greeting() } -> std::same_as<Request>;
    { requests.enter(contenders) } -> std::same_as<Request>;
    { requests.standing(ticket) } -> std::same_as<Request>;
    /// `which` of the tickets are to be renewed: each of them in one batch.
    { requests.renewals(tickets, which, extension) } -> std::same_as<std::vector<Batch<Request>>>;
    /// The time is that of a tombstone, for which a delayed enter is refused; nought: none is.
    { requests.leave(ticket, time) } -> std::same_as<Request>;
};

/// How a server's replies and pushes are read. Constant, as above.
template <class T, class Reply, class Message>
concept Answers = requires(const T& answers, const Reply& reply, const Message& message,
                           std::span<const Contender> contenders, std::size_t count) {
    { answers.entries(reply, contenders) } -> std::same_as<Result<std::vector<Entry>>>;
    /// As many as were asked for.
    { answers.standings(reply, count) } -> std::same_as<Result<std::vector<Standing>>>;
    { answers.left(reply) } -> std::same_as<Result<Standing>>;
    { answers.news(message) } -> std::same_as<News>;
};

/// What only one kind of server is: how the verbs are asked of it, how it answers them, and the
/// wire between. Time limits, repetition and who waits for the answer are none of its business.
///
/// The wire answers each request once, with `{Result<Reply> result; bool repeated;}`; repeated when
/// an earlier copy may have been carried out, or may still be. Its Listener hears `missed()` and
/// `pushed(Message)`, and `listening()` numbers the periods without a gap.
template <class T>
concept Protocol = requires(T protocol, const T& constant, const std::string& resource) {
    typename T::Answer;
    requires Listing<typename T::Listing>;
    { constant.requests() } -> Requests<typename T::Request>;
    { constant.answers() } -> Answers<typename T::Reply, typename T::Message>;

    { protocol.wire() } -> std::same_as<typename T::Wire&>;
    /// The table of those of this client who wait.
    { protocol.waiters() } -> std::convertible_to<Waiters&>;
    { constant.description() } -> std::same_as<const std::string&>;
    { constant.listing(resource) } -> std::same_as<Result<typename T::Listing>>;
    { constant.listing_of_one(resource) } -> std::same_as<typename T::Listing>;
};

/// One that does not remove what is over in passing.
template <class T>
concept Sweeps = requires(const T& constant, const std::string& from,
                          const typename T::Reply& reply) {
    { constant.requests().sweep(from) } -> std::same_as<typename T::Request>;
    { constant.answers().swept(reply) } -> std::same_as<Result<SweepStep>>;
};

/// One that asks by several connections, on which requests pass each other.
template <class T>
concept Passes = T::by_several_connections;

/// One with servers that allow less than its requests could do.
template <class T>
concept Limits = requires(const T& constant, const Capabilities& all_of_them) {
    { constant.limited(all_of_them) } -> std::same_as<Capabilities>;
};

}  // namespace holdfast::inline v0::scripted
