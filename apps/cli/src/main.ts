import { didYouMean } from '@chirality/core'
import { EXIT, UsageError } from './exit-code.ts'
import { Output, tell } from './output.ts'

type Command = (args: string[], output: Output) => Promise<number>

/** Each command is imported when it is called, so that the start is fast. */
const COMMANDS: Record<string, () => Promise<Command>> = {
  serve: async () => (await import('./commands/serve.ts')).serve,
  link: async () => (await import('./commands/link.ts')).link,
  run: async () => (await import('./commands/run.ts')).run,
  agents: async () => (await import('./commands/agents.ts')).agents,
  conformance: async () => (await import('./commands/conformance.ts')).conformance,
  loop: async () => (await import('./commands/loop.ts')).loop,
  schedule: async () => (await import('./commands/schedule.ts')).schedule,
  fleet: async () => (await import('./commands/fleet.ts')).fleet,
  worker: async () => (await import('./commands/serve.ts')).worker,
  doctor: async () => (await import('./commands/doctor.ts')).doctor,
  sessions: async () => (await import('./commands/sessions.ts')).sessions,
  replay: async () => (await import('./commands/replay.ts')).replay,
  personas: async () => (await import('./commands/personas.ts')).personas,
  policy: async () => (await import('./commands/policy.ts')).policy,
  usage: async () => (await import('./commands/usage.ts')).usage,
  budget: async () => (await import('./commands/budget.ts')).budget,
  cage: async () => (await import('./commands/cage.ts')).cage,
  trust: async () => (await import('./commands/trust.ts')).trust,
  worktrees: async () => (await import('./commands/worktrees.ts')).worktrees,
  mcp: async () => (await import('./commands/mcp.ts')).mcp,
  acp: async () => (await import('./commands/acp.ts')).acp,
  blame: async () => (await import('./commands/blame.ts')).blame,
  changes: async () => (await import('./commands/review.ts')).changes,
  commit: async () => (await import('./commands/review.ts')).commit,
  merge: async () => (await import('./commands/review.ts')).merge,
  discard: async () => (await import('./commands/review.ts')).discard,
  push: async () => (await import('./commands/review.ts')).push,
  back: async () => (await import('./commands/review.ts')).back,
  translate: async () => (await import('./commands/translate.ts')).translate,
  'scripted-model': async () => (await import('./commands/scripted-model.ts')).scriptedModel,
}

/** Runs one command. Resolves to the exit code when all of its output has been read. */
export async function main(argv: string[]): Promise<number> {
  const output = new Output(process.stdout)
  const code = await dispatch(argv, output).catch(async (error: unknown) => {
    const { message, code } = await explained(error)
    await tell(message)
    return code
  })
  await output.flushed()
  if (!output.failure) return code
  await tell(`chirality: stdout cannot be written (${output.failure.message}).\n`)
  return EXIT.failed
}

async function explained(error: unknown): Promise<{ message: string; code: number }> {
  if (lacksFiles(error)) return { message: FEW_FILES, code: EXIT.failed }
  try {
    // Imported on demand: the error classes are half of the code that a command loads.
    const { explain } = await import('./explain.ts')
    return explain(error)
  } catch (failure) {
    if (lacksFiles(failure)) return { message: FEW_FILES, code: EXIT.failed }
    throw failure
  }
}

/** Node.js takes a package whose manifest it cannot open for one that is not there. */
function lacksFiles(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EMFILE' || code === 'ENFILE') return true
  return code === 'ERR_MODULE_NOT_FOUND' && openFilesLimit() < FEW
}

function openFilesLimit(): number {
  const report = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } }
  const soft = report.userLimits?.open_files?.soft
  return typeof soft === 'number' ? soft : Number.POSITIVE_INFINITY
}

const FEW = 256
const FEW_FILES =
  'chirality: Too many open files. Raise the limit, for example with `ulimit -n 1024`, and start it again.\n'

async function dispatch(argv: string[], output: Output): Promise<number> {
  const [name, ...args] = argv
  if (name === undefined) {
    await tell((await import('./help.ts')).HELP)
    return EXIT.usage
  }
  if (HELP_NAMES.has(name)) {
    await output.write((await import('./help.ts')).HELP)
    return EXIT.done
  }
  if (Object.hasOwn(COMMANDS, name) && asksForHelp(args)) {
    await output.write((await import('./help.ts')).helpOf(name))
    return EXIT.done
  }
  if (VERSION_NAMES.has(name)) {
    await output.write(`${await version()}\n`)
    return EXIT.done
  }
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (!load) throw unknownCommand(name)
  const command = await load()
  return command(args, output)
}

const HELP_NAMES = new Set(['--help', '-h', 'help'])
const VERSION_NAMES = new Set(['--version', '-v', 'version'])

function asksForHelp(args: string[]): boolean {
  const end = args.indexOf('--')
  const options = end < 0 ? args : args.slice(0, end)
  return options.includes('--help') || options.includes('-h')
}

function unknownCommand(name: string): UsageError {
  const near = didYouMean(name, Object.keys(COMMANDS))
  return new UsageError(`Unknown command "${name}".${near ? ` Did you mean "${near}"?` : ''}`)
}

async function version(): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  const manifest = await readFile(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
