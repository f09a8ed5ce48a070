// Everything that writes files, and the reader of files that a project can bring.
export {
  type AtomicWriteOptions,
  createFileNow,
  fillFileAtomic,
  freeName,
  isAlive,
  removeIfThere,
  setAside,
  sweepTemporaries,
  syncFolder,
  TEMPORARY_NAME,
  temporaryName,
  type WriteNowOptions,
  writeFileAtomic,
  writeFileNow,
} from './atomic-write.ts'
export {
  copyCarefully,
  type FileFault,
  type FileFaultKind,
  type FileRequest,
  listCarefully,
  lookCarefully,
  openCarefully,
  type ReadFile,
  type ReadText,
  readCarefully,
  readJsonCarefully,
  readStart,
  readTextCarefully,
  textOrThrow,
} from './careful-read.ts'
export { changeFile } from './change-file.ts'
export { errnoOf, messageOf } from './errno.ts'
export { type FileOps, PRIVATE_FILE_MODE, realFileOps } from './file-ops.ts'
export { JsonFile, type JsonFileOptions } from './json-file.ts'
export { KeyedQueue } from './keyed-queue.ts'
export { OneAfterTheOther } from './one-after-the-other.ts'
export { ensurePrivateDirectory } from './private-directory.ts'
export { OPEN, openedPath, openRegular, readFully, readSmallFile, writeAll } from './read-write.ts'
export { StorageError, type StorageErrorCode, toStorageError, withStorageErrors } from './storage-error.ts'
