import path from 'node:path'
import {
  type ConformanceReport,
  reportTable,
  runConformance,
  storeResult,
  verdictOf,
} from '@chirality/conformance'
import { ACP_ID_PREFIX, didYouMean } from '@chirality/core'
import {
  acpDescriptor,
  acpHarnesses,
  HARNESSES,
  type HarnessDescriptor,
  KNOWN_AGENTS,
  resolveExecutable,
} from '@chirality/runner'
import { userDataFolder } from '@chirality/sessions'
import { agentEnvironment } from '../agent-environment.ts'
import { EXIT, type ExitCode, UsageError } from '../exit-code.ts'
import { readOptions, wholeNumber } from '../options.ts'
import { type Output, tell } from '../output.ts'
import { plain } from '../render/style.ts'
import { STOP_SIGNALS } from '../stop-signals.ts'
import { serverEnvironment } from './serve/server-harnesses.ts'

/** `conformance [HARNESS | -- COMMAND…]`: what an agent does, shown by scripted conversations. Spends no tokens. */
export async function conformance(args: string[], output: Output): Promise<number> {
  const end = args.indexOf('--')
  const { values, positionals } = readOptions(end < 0 ? args : args.slice(0, end), {
    json: { type: 'boolean' },
    limit: { type: 'string' },
    program: { type: 'string' },
  })
  const [named, ...more] = positionals
  if (more.length > 0) throw new UsageError(`Name one agent, or none for all: unexpected "${more[0]}".`)
  if (end >= 0 && named !== undefined)
    throw new UsageError(`Name an agent or a command, not both: ${named} and the command after "--".`)
  if (values.program !== undefined && named === undefined)
    throw new UsageError(
      '--program FILE needs the agent whose program it is: chirality conformance HARNESS --program FILE',
    )
  const limit = wholeNumber('limit', values.limit, { min: 1, max: 600 })
  const environment = agentEnvironment(await serverEnvironment())
  const command = end < 0 ? undefined : args.slice(end + 1)
  const trials = command
    ? [await ofCommand(command, environment)]
    : await ofAgents(named, values.program, environment)
  const stopped = stopSignal()
  const reports: ConformanceReport[] = []
  try {
    for (const { descriptor, binaryPath } of trials) {
      await tell(`Trying ${plain(descriptor.meta.name)} with a model on this machine …\n`)
      const report = await runConformance({
        ...{ descriptor, binaryPath, signal: stopped.signal, path: programPath(environment) },
        ...(limit === undefined ? {} : { limitMs: limit * 1000 }),
      })
      reports.push(report)
      await output.write(values.json ? `${JSON.stringify(report)}\n` : plain(reportTable(report)))
      if (!command) await keep(report)
    }
  } catch (error) {
    if (!stopped.signal.aborted) throw error
    await tell('Stopped. Everything that was started is ended and removed.\n')
    return EXIT.interrupted
  } finally {
    stopped.forget()
  }
  return exitCode(reports)
}

/** For the dashboard: one agent that is installed. */
export async function tryInstalled(
  id: string,
  environment: Record<string, string>,
  signal: AbortSignal,
): Promise<ConformanceReport> {
  const [trial] = await ofAgents(id, undefined, environment)
  if (!trial) throw new UsageError(`There is no agent ${id}.`)
  return runConformance({ ...trial, signal, path: programPath(environment) })
}

/** An agent that is a script needs the Node that runs it. */
function programPath({ PATH }: Record<string, string>): string {
  return [PATH, path.dirname(process.execPath)].filter(Boolean).join(path.delimiter)
}

interface Trial {
  descriptor: HarnessDescriptor
  binaryPath: string | undefined
}

async function ofAgents(
  named: string | undefined,
  program: string | undefined,
  environment: Record<string, string>,
): Promise<Trial[]> {
  const all = [...HARNESSES, ...(await acpHarnesses({ dataFolder: userDataFolder(), environment }))]
  if (named !== undefined) {
    const descriptor = all.find(({ meta }) => meta.id === named)
    const spec = KNOWN_AGENTS.find(({ name }) => `${ACP_ID_PREFIX}${name}` === named)
    if (spec && program !== undefined)
      return [
        { descriptor: acpDescriptor({ ...spec, command: path.resolve(program) }), binaryPath: undefined },
      ]
    if (!descriptor) throw unknown(named, all)
    return [
      {
        descriptor,
        binaryPath: program === undefined ? await programOf(descriptor, environment) : path.resolve(program),
      },
    ]
  }
  const found = await Promise.all(
    all.map(async descriptor => ({ descriptor, binaryPath: await programOf(descriptor, environment) })),
  )
  return found.filter(({ descriptor, binaryPath }) => binaryPath !== undefined || !descriptor.meta.install)
}

/** The program as the user's own environment finds it: the trial has another HOME. */
async function programOf(
  { create }: HarnessDescriptor,
  environment: Record<string, string>,
): Promise<string | undefined> {
  const harness = await create({ environment, keepAlive: false })
  try {
    return (await harness.checkInstallStatus()).path
  } finally {
    await harness.close()
  }
}

async function ofCommand(
  [command, ...args]: string[],
  { PATH = '', HOME: home }: Record<string, string>,
): Promise<Trial> {
  if (command === undefined || command === '')
    throw new UsageError('Name the command after "--", as in: chirality conformance -- my-agent --acp')
  const program = await resolveExecutable(command, [], {
    path: PATH,
    ...(home === undefined ? {} : { home }),
  })
  if (program === undefined)
    throw new UsageError(`There is no program ${command}. Name one that PATH finds, or its path.`)
  const known = KNOWN_AGENTS.find(agent => agent.command === path.basename(command))
  const name =
    path
      .basename(command)
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .slice(0, 40) || 'agent'
  const spec = {
    ...(known ?? { name, env: [] }),
    title: known?.title ?? path.basename(command),
    command: program,
    args,
  }
  return { descriptor: acpDescriptor(spec), binaryPath: undefined }
}

function unknown(named: string, all: readonly HarnessDescriptor[]): UsageError {
  const ids = all.map(({ meta }) => meta.id)
  const near = didYouMean(named, ids)
  const hint = KNOWN_AGENTS.some(({ name }) => `${ACP_ID_PREFIX}${name}` === named)
    ? ' Its program is not found: name it with --program FILE.'
    : near
      ? ` Did you mean ${near}?`
      : ''
  return new UsageError(
    `There is no agent "${named}".${hint} Known here: ${ids.join(', ')}. Any other: -- COMMAND…`,
  )
}

/** The result is worth showing even where it cannot be kept. */
async function keep(report: ConformanceReport): Promise<void> {
  if (report.refused !== undefined) return
  await storeResult(userDataFolder(), report).catch(async (error: unknown) => {
    await tell(`The result is not kept: ${plain(error instanceof Error ? error.message : String(error))}\n`)
  })
}

/** The first signal ends the trial; a second one ends this process at once. */
function stopSignal(): { signal: AbortSignal; forget(): void } {
  const stop = new AbortController()
  const onSignal = () => stop.abort()
  for (const signal of STOP_SIGNALS) process.once(signal, onSignal)
  return {
    signal: stop.signal,
    forget: () => {
      for (const signal of STOP_SIGNALS) process.off(signal, onSignal)
    },
  }
}

function exitCode(reports: ConformanceReport[]): ExitCode {
  const verdicts = reports.map(verdictOf)
  if (verdicts.some(verdict => verdict === 'partly' || verdict === 'fails')) return EXIT.failed
  return verdicts.includes('works') ? EXIT.done : EXIT.notInstalled
}
