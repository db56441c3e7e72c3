// SPDX-License-Identifier: Apache-2.0
// Tries to make a user namespace of its own, in which it would be root again.
#include <sched.h>

#include "attack.h"

int main() {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) got_through("an own user namespace");
  refused("unshare");
}
