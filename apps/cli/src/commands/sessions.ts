import { chooseAction } from '../options.ts'
import type { Output } from '../output.ts'
import { deleteCommand } from './sessions/delete.ts'
import { exportCommand } from './sessions/export.ts'
import { forkCommand } from './sessions/fork.ts'
import { importCommand } from './sessions/import.ts'
import { listCommand } from './sessions/list.ts'
import { searchCommand } from './sessions/search.ts'
import { showCommand } from './sessions/show.ts'

/** The sessions of projects: list, show, search, export, fork, import and delete. */
export function sessions(args: string[], output: Output): Promise<number> {
  const { run, rest } = chooseAction('sessions', args, ACTIONS)
  return run(rest, output)
}

const ACTIONS = {
  list: listCommand,
  show: showCommand,
  search: searchCommand,
  fork: forkCommand,
  export: exportCommand,
  import: importCommand,
  delete: deleteCommand,
}
