#pragma once

/// holdfast: distributed locks on the store that you already run. This header brings all of it.
#include <holdfast/callback.hpp>
#include <holdfast/client.hpp>
#include <holdfast/error.hpp>
#include <holdfast/hold.hpp>
#include <holdfast/multi_lock.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/observer.hpp>
#include <holdfast/options.hpp>
#include <holdfast/recursive_mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>
#include <holdfast/version.hpp>
#include <holdfast/wait.hpp>
