import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type CleanHome, claudeBinary, cleanHome } from '@chirality/fixtures'
import { startScriptedModel } from '@chirality/scripted-model'

export interface OneWordTurn {
  /** Median of the ratios of each pair. */
  ratio: number
  bareMs: number
  runMs: number
  rounds: number
}

/** `chirality run` against the agent itself: the same binary, flags, environment, prompt, folder and model. */
export async function measureOneWordTurn(): Promise<OneWordTurn> {
  await using model = await startScriptedModel({ otherwise: 'Hello.' })
  await using world = await cleanHome(model)
  const invocation = await recordInvocation(world)
  const chirality = {
    command: process.execPath,
    args: RUN,
    env: { ...world.env, CHIRALITY_CLAUDE_BIN: claudeBinary() },
  }
  const promptFile = keptPrompt(world)
  const bare = () => ({
    ...invocation,
    command: claudeBinary(),
    args: ownArgs(invocation.args, promptFile),
  })

  const pairs: { bareMs: number; runMs: number }[] = []
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    // Alternating, so that neither always runs on the caches that the other has warmed.
    const times = { bareMs: 0, runMs: 0 }
    const runFirst = round % 2 === 0
    if (runFirst) times.runMs = await wallMs(chirality, world.project)
    times.bareMs = await wallMs(bare(), world.project)
    if (!runFirst) times.runMs = await wallMs(chirality, world.project)
    if (round >= 0) pairs.push(times)
  }
  return {
    ratio: median(pairs.map(({ bareMs, runMs }) => runMs / bareMs)),
    bareMs: median(pairs.map(({ bareMs }) => bareMs)),
    runMs: median(pairs.map(({ runMs }) => runMs)),
    rounds: ROUNDS,
  }
}

const ROUNDS = 20
const WARM_UP_ROUNDS = 2
const PROMPT = 'Hi'
const RUN = [fileURLToPath(new URL('../bin/chirality.mjs', import.meta.url)), 'run', '-']

interface Command {
  command: string
  args: string[]
  env: Record<string, string>
}

/** Learnt from a stand-in for the agent, so that the flags are the same by construction. */
async function recordInvocation({ home, project, env }: CleanHome): Promise<Pick<Command, 'args' | 'env'>> {
  const recorder = fileURLToPath(new URL('../test/programs/records-invocation.mjs', import.meta.url))
  const PATH = `${path.dirname(process.execPath)}:${env.PATH}`
  await wallMs(
    { command: process.execPath, args: RUN, env: { ...env, PATH, CHIRALITY_CLAUDE_BIN: recorder } },
    project,
  )
  return JSON.parse(readFileSync(path.join(home, 'invocation.json'), 'utf8')) as Pick<Command, 'args' | 'env'>
}

/** The same flags, with what belonged to the recorded turn alone replaced: its id, and a file that is gone. */
function ownArgs(args: string[], promptFile: string): string[] {
  return args.map((arg, index) => {
    if (args[index - 1] === '--session-id') return randomUUID()
    return args[index - 1] === '--append-system-prompt-file' ? promptFile : arg
  })
}

/** The prompt of the recorded turn, as the project keeps it. */
function keptPrompt({ project }: CleanHome): string {
  const folder = path.join(project, '.chirality', 'prompts')
  return path.join(folder, readdirSync(folder)[0] ?? '')
}

/** From the start of the process until it is gone and all of its output is read. */
function wallMs({ command, args, env }: Command, cwd: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now()
    const child = spawn(command, args, { cwd, env, stdio: ['pipe', 'pipe', 'inherit'] })
    child.stdout.resume()
    child.stdin.end(PROMPT)
    child.once('error', reject)
    child.once('close', code => {
      if (code === 0) resolve(performance.now() - startedAt)
      else reject(new Error(`${command} exited with ${code}`))
    })
  })
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
