// SPDX-License-Identifier: Apache-2.0
// MPI-IO. Files are MPI's; ranks of a collective call on one meet before they make it, as in other
// collectives. Calls of one rank alone wait for nobody.
#include "shims/hostlib/host_server.h"
#include "shims/hostlib/mpi/mpi_comms.h"

using namespace cuco::hostlib;  // NOLINT(google-build-using-namespace): definitions of C functions

CUCO_HOST_EXPORT int MPI_File_open(
    MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file) {
  synchronise(comm);
  const int result = PMPI_File_open(comm, name, mode, info, file);
  if (result == MPI_SUCCESS && server() != nullptr) name_file(comm, *file);
  return result;
}

CUCO_HOST_EXPORT int MPI_File_close(MPI_File* file) {
  if (server() != nullptr) {
    synchronise(*file);
    forget(*file);
  }
  return PMPI_File_close(file);
}

// NOLINTBEGIN(bugprone-macro-parentheses): parameter lists cannot be parenthesised.
#define CUCO_MPI_FILE(name, parameters, arguments)  \
  CUCO_HOST_EXPORT int MPI_File_##name parameters { \
    if (server() != nullptr) synchronise(file);     \
    return PMPI_File_##name arguments;              \
  }
#define CUCO_MPI_FILE_DATA(name, pointer)                                                        \
  CUCO_MPI_FILE(name,                                                                            \
                (MPI_File file, pointer data, int count, MPI_Datatype type, MPI_Status* status), \
                (file, data, count, type, status))
#define CUCO_MPI_FILE_DATA_AT(name, pointer)                                                   \
  CUCO_MPI_FILE(name,                                                                          \
                (MPI_File file, MPI_Offset offset, pointer data, int count, MPI_Datatype type, \
                 MPI_Status* status),                                                          \
                (file, offset, data, count, type, status))
// NOLINTEND(bugprone-macro-parentheses)

CUCO_MPI_FILE_DATA(read_all, void*)
CUCO_MPI_FILE_DATA(write_all, const void*)
CUCO_MPI_FILE_DATA(read_ordered, void*)
CUCO_MPI_FILE_DATA(write_ordered, const void*)
CUCO_MPI_FILE_DATA_AT(read_at_all, void*)
CUCO_MPI_FILE_DATA_AT(write_at_all, const void*)
CUCO_MPI_FILE(read_all_begin,
              (MPI_File file, void* data, int count, MPI_Datatype type),
              (file, data, count, type))
CUCO_MPI_FILE(write_all_begin,
              (MPI_File file, const void* data, int count, MPI_Datatype type),
              (file, data, count, type))
CUCO_MPI_FILE(read_at_all_begin,
              (MPI_File file, MPI_Offset offset, void* data, int count, MPI_Datatype type),
              (file, offset, data, count, type))
CUCO_MPI_FILE(write_at_all_begin,
              (MPI_File file, MPI_Offset offset, const void* data, int count, MPI_Datatype type),
              (file, offset, data, count, type))
CUCO_MPI_FILE(sync, (MPI_File file), (file))
CUCO_MPI_FILE(set_size, (MPI_File file, MPI_Offset bytes), (file, bytes))
CUCO_MPI_FILE(preallocate, (MPI_File file, MPI_Offset bytes), (file, bytes))
CUCO_MPI_FILE(seek_shared, (MPI_File file, MPI_Offset offset, int whence), (file, offset, whence))
CUCO_MPI_FILE(set_atomicity, (MPI_File file, int flag), (file, flag))
CUCO_MPI_FILE(set_view,
              (MPI_File file,
               MPI_Offset offset,
               MPI_Datatype element,
               MPI_Datatype type,
               const char* representation,
               MPI_Info info),
              (file, offset, element, type, representation, info))
