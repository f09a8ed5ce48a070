// The files that open or read a file by themselves, each with the reason why it may. Everything else takes the careful
// reader: what a clone, an archive or an agent put into a project can be a link to /dev/zero, a FIFO, or of any size.

const OWN = "Chirality's own data folder of the user, which no project can write"
const SYSTEM = 'only /proc and other files of the system'
const PACKAGE = "the program's or an installed package's own file"
const NAMED = 'a file that the user names on the command line'
const WRITES = 'opens to write only: a new file, or without following a link'
const CAREFUL =
  'opens without following a link and without blocking, takes only a regular file, and has a limit'
const AGENT_HOME = "the agent's own folder in the user's home"

export const CAREFUL_READER = 'packages/disk/src/careful-read.ts'

export const FILE_READERS = {
  'packages/cage/src/keeper/bubblewrap.mjs': SYSTEM,
  'packages/cage/src/keeper/probe.mjs': SYSTEM,
  'packages/conformance/src/results.ts': OWN,
  'packages/disk/src/file-ops.ts': 'the calls of the storage, whose flags are in read-write.ts',
  'packages/fleet/src/claim/groups.ts': OWN,
  'packages/fleet/src/engine/broker-process.ts': OWN,
  'packages/fleet/src/engine/distribution.ts': PACKAGE,
  'packages/fleet/src/engine/fleet-files.ts': OWN,
  'packages/fleet/src/engine/given-program.ts': NAMED,
  'packages/fleet/src/mirror/mirror.ts': OWN,
  'packages/fleet/src/move/copies.ts': OWN,
  'packages/fleet/src/move/copy-choice.ts': OWN,
  'packages/fleet/src/move/notes.ts': OWN,
  'packages/fleet/src/move/parcel-file.ts': OWN,
  'packages/fleet/src/own-sessions.ts': OWN,
  'packages/fleet/src/remote-sessions.ts': OWN,
  'packages/fleet/src/removals.ts': OWN,
  'packages/fleet/src/spending.ts': OWN,
  'packages/fleet/src/work/work-desk.ts': OWN,
  'packages/loops/src/schedule-journal.ts': OWN,
  'packages/personas/src/files/open-project-file.ts': CAREFUL,
  'packages/personas/src/files/persona-editor.ts':
    'reads what open-project-file.ts opened, and writes new files',
  'packages/personas/src/files/save-prompt.ts': CAREFUL,
  'packages/runner/src/agent-sdk/config.ts': PACKAGE,
  'packages/runner/src/claude-code/install/project-files.ts':
    'opens without blocking, takes only a regular file, and has a limit; follows links, as the agent does',
  'packages/runner/src/codex/exec/thread-facts.ts': AGENT_HOME,
  'packages/runner/src/env/hide-environment.ts': SYSTEM,
  'packages/runner/src/messages-api/conversation/transcript.ts': WRITES,
  'packages/runner/src/messages-api/tools/files/pinned-directory.ts': CAREFUL,
  'packages/runner/src/native-sessions/read-lines.ts': AGENT_HOME,
  'packages/runner/src/process/adopt-agent.ts': CAREFUL,
  'packages/runner/src/process/program/known-programs.ts': OWN,
  'packages/runner/src/process/spool/log-directory.ts': WRITES,
  'packages/runner/src/process/spool/spool-source.ts': WRITES,
  'packages/runner/src/process/spool/spool.ts': WRITES,
  'packages/runner/src/process/spool/temp-folder.ts': SYSTEM,
  'packages/runner/src/process/system/kept-memory.ts': SYSTEM,
  'packages/runner/src/process/system/leftovers.ts': SYSTEM,
  'packages/runner/src/process/system/process-table.ts': SYSTEM,
  'packages/runner/src/process/system/run-group.ts': SYSTEM,
  'packages/runner/src/turn/adoption-record.ts': WRITES,
  'packages/centre/src/files/read-file.ts': CAREFUL,
  'packages/server/src/http/static-files.ts': PACKAGE,
  'packages/centre/src/system/user-files.ts': OWN,
  'packages/sessions/src/lock/lock-owner.ts': SYSTEM,
  'packages/sessions/src/spools/line-reader.ts': CAREFUL,
  'packages/sessions/src/turns/leaving-sessions.ts': OWN,
  'packages/workspaces/src/blame/blame-place.ts': CAREFUL,
  'packages/workspaces/src/git/blocking-pipe.ts': WRITES,
  'packages/workspaces/src/git/state-file.ts': CAREFUL,
  'packages/workspaces/src/review/one-file.ts': CAREFUL,
  'packages/workspaces/src/setup/fill-worktree.ts':
    'copies what it found to be a regular file, reached by no link, within limits',
  'packages/workspaces/src/setup/workspace-file.ts': CAREFUL,
  'packages/workspaces/src/worktrees/worktree-records.ts': OWN,
  'apps/cli/src/commands/acp.ts': PACKAGE,
  'apps/cli/src/commands/blame.ts': NAMED,
  'apps/cli/src/commands/serve.ts': PACKAGE,
  'apps/cli/src/commands/serve/serve-options.ts': NAMED,
  'apps/cli/src/commands/sessions.ts': WRITES,
  'apps/cli/src/commands/sessions/import.ts': NAMED,
  'apps/cli/src/commands/translate.ts': NAMED,
  'apps/cli/src/main.ts': PACKAGE,
}
