// The files outside of packages/disk that rename or append by themselves, each with the reason why it may. Everything else
// takes writeFileAtomic, changeFile or JsonFile: each copy of these had other guarantees.

const MOVES = 'gives another place to what is whole; nothing is written'
const LOG = 'keeps the file open while it runs, and mends a torn end itself'

export const DISK_FOLDER = 'packages/disk'

export const DISK_WRITERS = {
  'packages/fleet/src/engine/leave.ts': MOVES,
  'packages/fleet/src/engine/nats-binary.ts': 'a program gets its name after a trial under another one',
  'packages/fleet/src/move/copies.ts': 'pieces of a large file come over the network, and are checked first',
  'packages/loops/src/journal-file.ts': LOG,
  'packages/loops/src/project-copy.ts': LOG,
  'packages/loops/src/schedule-book.ts': MOVES,
  'packages/loops/src/schedule-journal.ts': LOG,
  'packages/runner/src/messages-api/conversation/transcript.ts': LOG,
  'packages/runner/src/process/spool/spool.ts': 'an agent writes to the file',
  'packages/runner/src/turn/adoption-record.ts': LOG,
  'packages/sessions/src/harness-log/harness-log.ts': LOG,
  'packages/sessions/src/log/file/log-file.ts': LOG,
  'packages/sessions/src/store/spool-index.ts': LOG,
  'packages/workspaces/src/review/disk-files.ts': 'names are bytes, which may be no text',
  'packages/workspaces/src/setup/fill-worktree.ts': 'folders are copied, and a file of git gets a line',
  'packages/workspaces/src/worktrees/worktrees.ts': MOVES,
}
