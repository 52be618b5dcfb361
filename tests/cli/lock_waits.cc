// SPDX-License-Identifier: GPL-2.0
/* A thread waits for C++'s locks while another one holds them, for its result, and for its end. */
#include <chrono>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace store {
std::mutex names;
std::shared_mutex table;
} // namespace store

static void hold(int ms)
{
	std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

__attribute__((noinline, noipa)) static void take_names(int ms)
{
	const std::lock_guard<std::mutex> guard(store::names);

	hold(ms);
}

__attribute__((noinline, noipa)) static void change_table(int ms)
{
	const std::unique_lock<std::shared_mutex> guard(store::table);

	hold(ms);
}

__attribute__((noinline, noipa)) static int get(std::future<int> &result)
{
	const int value = result.get();

	hold(0);
	return value;
}

int main()
{
	std::promise<int> promise;
	std::future<int> result = promise.get_future();
	std::thread other([&promise] {
		take_names(20);
		change_table(40);
		hold(40);
		promise.set_value(0);
		hold(20);
	});
	int value;

	hold(5);
	take_names(0);
	hold(5);
	change_table(0);
	value = get(result);
	other.join();
	return value;
}
