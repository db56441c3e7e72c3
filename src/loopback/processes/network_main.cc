// SPDX-License-Identifier: Apache-2.0
// The network's process: started by cuco before the ranks of a run that are processes, with the
// same variables. It ends when its standard input does.

extern "C" void cuco_loopback_network();

int main() {
  cuco_loopback_network();
}
