export { type FileOps, realFileOps } from './files/file-ops.ts'
export { StorageError, type StorageErrorCode } from './files/storage-error.ts'
export type { ProjectOwner } from './lock/lock-owner.ts'
export {
  findProjectOwner,
  type LockOptions,
  lockProject,
  type ProjectLock,
  ProjectLockedError,
} from './lock/project-lock.ts'
export { LogError } from './log/log-error.ts'
export type { LogHealth } from './log/log-writer.ts'
export { openSessionLog, removeSessionLog } from './log/open-logs.ts'
export type { AppendOptions, ReadOptions, SessionLog, SessionLogOptions } from './log/session-log.ts'
