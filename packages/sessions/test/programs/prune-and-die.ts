// Prunes all raw logs of a project that it may, and dies as by `kill -9` at the deletion of one file:
// `node prune-and-die.mjs PROJECT NUMBER`.
import { realFileOps } from '@chirality/disk'
import { listRawLogs, logsToPrune, removeRawLogs } from '../../src/spools/raw-logs.ts'

const [project = '', number] = process.argv.slice(2)
let deleted = 0
const ops = {
  ...realFileOps,
  unlink: (path: string) => {
    if (deleted === Number(number)) process.kill(process.pid, 'SIGKILL')
    deleted += 1
    realFileOps.unlink(path)
  },
}
const { going } = logsToPrune(await listRawLogs(project), { keep: 'size', bytes: 1 })
await removeRawLogs(going, ops)
