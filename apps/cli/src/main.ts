import { HarnessError } from '@chirality/core'
import { EXIT, exitCodeOfError } from './exit-code.ts'
import { HELP } from './help.ts'
import { nearest } from './options.ts'
import { UsageError } from './usage-error.ts'

type Command = (args: string[]) => Promise<number>

/** Each command is loaded when it is called: starting fast is half of what a person notices. */
const COMMANDS: Record<string, () => Promise<Command>> = {
  run: async () => (await import('./commands/run.ts')).run,
  doctor: async () => (await import('./commands/doctor.ts')).doctor,
  translate: async () => (await import('./commands/translate.ts')).translate,
  'scripted-model': async () => (await import('./commands/scripted-model.ts')).scriptedModel,
}

/** Runs one command and sets the process's exit code. */
export async function main(argv: string[]): Promise<void> {
  ignoreClosedPipes()
  process.exitCode = await dispatch(argv)
}

async function dispatch(argv: string[]): Promise<number> {
  const [name, ...rest] = argv
  try {
    if (name === undefined) {
      process.stderr.write(HELP)
      return EXIT.usage
    }
    if (name === '--help' || name === '-h' || name === 'help') {
      process.stdout.write(HELP)
      return EXIT.done
    }
    if (name === '--version' || name === '-v') {
      process.stdout.write(`${await version()}\n`)
      return EXIT.done
    }
    const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
    if (!load) {
      const near = nearest(name, Object.keys(COMMANDS))
      throw new UsageError(`Unknown command "${name}".${near ? ` Did you mean "${near}"?` : ''}`)
    }
    if (asksForHelp(rest)) {
      process.stdout.write(HELP)
      return EXIT.done
    }
    return await (await load())(rest)
  } catch (error) {
    return explain(error)
  }
}

function asksForHelp(args: string[]): boolean {
  const end = args.indexOf('--')
  const options = end < 0 ? args : args.slice(0, end)
  return options.includes('--help') || options.includes('-h')
}

function explain(error: unknown): number {
  if (error instanceof UsageError) {
    process.stderr.write(`chirality: ${error.message}\nSee \`chirality --help\`.\n`)
    return EXIT.usage
  }
  if (error instanceof HarnessError) {
    process.stderr.write(`chirality: ${error.message}\n`)
    return exitCodeOfError(error)
  }
  process.stderr.write(
    `chirality: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  )
  return EXIT.failed
}

async function version(): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  const manifest = await readFile(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

/** `chirality run … | head` closes the pipe early; that is no reason for a stack trace. */
function ignoreClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  }
}
