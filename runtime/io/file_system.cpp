#include "runtime/io/file_system.h"

#include <sys/vfs.h>

namespace tdsl::rt {

FileSystem file_system_of(const std::string& folder) {
  struct statfs about {};
  if (::statfs(folder.c_str(), &about) != 0) return FileSystem::kLocal;
  switch (static_cast<std::uint32_t>(about.f_type)) {
    case 0x01021994:  // tmpfs
    case 0x858458F6:  // ramfs
      return FileSystem::kMemory;
    case 0x6969:      // NFS
    case 0xFF534D42:  // CIFS
    case 0xFE534D42:  // SMB2
    case 0x517B:      // SMB
    case 0x0BD00BD0:  // Lustre
    case 0x47504653:  // GPFS
    case 0x19830326:  // BeeGFS
    case 0x00C36400:  // Ceph
    case 0x5346414F:  // AFS
    case 0x01161970:  // GFS2
    case 0x7461636F:  // OCFS2
      return FileSystem::kShared;
    default: return FileSystem::kLocal;
  }
}

}  // namespace tdsl::rt
