#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stores/sql/session.hpp"

namespace holdfast::inline v0::mysql {

/// What can be done by a single statement on the seat in a resource's row, without a procedure.
class Seat {
public:
    /// Does what the call asks for when it changes one row; when it changes none, nothing is done
    /// and the call itself is to be sent. Nothing for a call that no such statement can do, or will
    /// hardly do.
    std::optional<std::string> statement_for(const sql::Call& call) const;

    /// What the procedure would have answered. `number` is the last inserted id, by which the
    /// statement tells the fence.
    static std::vector<std::string> answer_to(const sql::Call& call, std::uint64_t number);

    /// Learns from what a procedure answered: where somebody waited for a release, somebody will
    /// probably wait for the next one.
    void learn(const sql::Call& call, const sql::Reply& reply);

private:
    static std::size_t index_of(const sql::Call& call);

    std::bitset<256> crowded_;  ///< by a hash of the name: a wrong guess costs time only
};

}  // namespace holdfast::inline v0::mysql
