# SPDX-License-Identifier: Apache-2.0
# `cmake --install`: a folder that can be moved. The programs find each other and their data from where
# they are themselves (system::find_helper, system::find_data), so these four places are fixed:
#   bin/cuco   libexec/cuco (helpers)   lib/cuco (libraries for virtual ranks)   share/cuco (data)
# What is embedded in the programs is not installed: prompts, models.toml, headers that go with results.
install(TARGETS cuco RUNTIME DESTINATION bin)

set(helpers cuco-jail cuco-http cuco-device cuco-rank cuco-nvrtc cuco-oracle cuco-vcluster cuco-serve)
if(TARGET cuco-analyse)
  list(APPEND helpers cuco-analyse)
else()
  message(STATUS "an installation of this build has no cuco-analyse: libclang 19 is missing")
endif()
install(TARGETS ${helpers} RUNTIME DESTINATION libexec/cuco)

set(shims cudart cudriver cuco_nccl cuco_host)
if(TARGET cuco_mpi)
  list(APPEND shims cuco_mpi)
endif()
install(TARGETS ${shims} LIBRARY DESTINATION lib/cuco)
if(TARGET cuco_loopback_nccl)
  install(TARGETS cuco_loopback_nccl cuco_loopback_network LIBRARY DESTINATION lib/cuco/loopback
    RUNTIME DESTINATION lib/cuco/loopback)
  install(FILES $<TARGET_FILE_DIR:cuco_loopback_nccl>/libcuco_loopback_preload.so
    DESTINATION lib/cuco/loopback)
endif()
get_property(stand_ins GLOBAL PROPERTY CUCO_STAND_INS)
foreach(file IN LISTS stand_ins)
  string(REGEX REPLACE "\\.so\\..*" ".so" link ${file})
  install(FILES ${file} ${link} DESTINATION lib/cuco)
endforeach()

install(DIRECTORY topology hardware workloads templates include demo DESTINATION share/cuco
  PATTERN __pycache__ EXCLUDE)
# Without npm there are no pages: cuco serve then shows plainer ones, and says so.
install(DIRECTORY ${CMAKE_BINARY_DIR}/share/cuco/web DESTINATION share/cuco OPTIONAL)
install(FILES README.md LICENSE CHANGELOG.md DESTINATION share/doc/cuco)
install(DIRECTORY docs/guides DESTINATION share/doc/cuco FILES_MATCHING PATTERN *.md)
install(DIRECTORY ${CMAKE_BINARY_DIR}/manual/man1 DESTINATION share/man)
install(FILES ${CMAKE_BINARY_DIR}/manual/cuco DESTINATION share/bash-completion/completions)
install(FILES ${CMAKE_BINARY_DIR}/manual/_cuco DESTINATION share/zsh/vendor-completions)
install(FILES ${CMAKE_BINARY_DIR}/manual/cuco.fish DESTINATION share/fish/vendor_completions.d)

# A Debian package: `cpack` in the build folder. What the programs link is looked up by dpkg-shlibdeps.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cuco)
set(CPACK_PACKAGE_CONTACT "the cuco developers <cuco@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "finds faster CUDA programs by moving communication into the kernels")
set(CPACK_PACKAGE_DESCRIPTION
"Runs CUDA + NCCL (+ MPI) programs on virtual GPUs, checks them, and searches for faster versions whose
kernels communicate directly. Needs neither a GPU nor a language model.
To build programs it needs nvcc of CUDA 13.0 and the headers of NCCL 2.28.9 or newer, which Debian does
not have: install NVIDIA's toolkit, then see what cuco doctor says.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib/cuco)
# nvcc compiles host code with g++, and so are oracles; addr2line names lines of findings; libclang reads
# programs with headers of its own.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "g++, binutils")
if(TARGET cuco-analyse)
  string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libclang-common-19-dev")
endif()
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openmpi-bin, libopenmpi-dev")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "cuda-toolkit-13-0, libnccl-dev")
include(CPack)
