import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type CleanHome, claudeBinary, cleanHome, codexBinary } from '@chirality/fixtures'
import { codexArgs, startScriptedModel } from '@chirality/scripted-model'

export interface OneWordTurn {
  /** Medians of the ratios of each pair: to the end, and to the first line. */
  ratio: number
  firstRatio: number
  bareMs: number
  runMs: number
  rounds: number
}

/** `chirality run` against Claude Code itself: the same binary, flags, environment, prompt, folder and model. */
export async function measureClaudeTurn(): Promise<OneWordTurn> {
  await using model = await startScriptedModel({ otherwise: 'Hello.' })
  await using world = await cleanHome(model)
  const invocation = await recordInvocation(world)
  const env = { ...world.env, CHIRALITY_CLAUDE_BIN: claudeBinary() }
  const promptFile = keptPrompt(world)
  const bare = () => ({
    ...invocation,
    command: claudeBinary(),
    args: ownArgs(invocation.args, promptFile),
  })
  return await measurePairs(() => ({ command: process.execPath, args: RUN, env }), bare, world.project)
}

/** The same for Codex, against `codex exec`, which prints no pieces of its answer and can ask nobody. */
export async function measureCodexTurn(): Promise<OneWordTurn> {
  await using model = await startScriptedModel({ otherwise: 'Hello.' })
  await using world = await cleanHome(model)
  const overrides = [
    ...codexArgs(model).args.filter(arg => arg !== '-c'),
    'model_providers.scripted.env_key="CODEX_API_KEY"',
    'model="gpt-5.5"',
  ]
  const { path: command } = codexBinary()
  const env = {
    ...{ ...world.env, CODEX_API_KEY: 'sk-scripted-model' },
    ...{ CHIRALITY_CODEX_BIN: command, CHIRALITY_CODEX_CONFIG: JSON.stringify(overrides) },
  }
  const run = { command: process.execPath, args: [...RUN, '--harness', 'codex'], env }
  const exec = ['exec', '--json', '--skip-git-repo-check', '-']
  const bare = { command, args: [...overrides.flatMap(each => ['-c', each]), ...exec], env }
  return await measurePairs(
    () => run,
    () => bare,
    world.project,
  )
}

async function measurePairs(run: () => Command, bare: () => Command, cwd: string): Promise<OneWordTurn> {
  const pairs: { bare: Took; run: Took }[] = []
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    // Alternating, so that neither always runs on the caches that the other has warmed.
    const before = round % 2 === 0 ? await took(run(), cwd) : undefined
    const bareTook = await took(bare(), cwd)
    const pair = { bare: bareTook, run: before ?? (await took(run(), cwd)) }
    if (round >= 0) pairs.push(pair)
  }
  return {
    ratio: median(pairs.map(({ bare, run }) => run.ms / bare.ms)),
    firstRatio: median(pairs.map(({ bare, run }) => run.firstMs / bare.firstMs)),
    bareMs: median(pairs.map(({ bare }) => bare.ms)),
    runMs: median(pairs.map(({ run }) => run.ms)),
    rounds: ROUNDS,
  }
}

const ROUNDS = 20
const WARM_UP_ROUNDS = 2
const PROMPT = 'Hi'
const RUN = [fileURLToPath(new URL('../bin/chirality.mjs', import.meta.url)), 'run', '-', '--json']

interface Command {
  command: string
  args: string[]
  env: Record<string, string>
}

/** Learnt from a stand-in for the agent, so that the flags are the same by construction. */
async function recordInvocation({ home, project, env }: CleanHome): Promise<Pick<Command, 'args' | 'env'>> {
  const recorder = fileURLToPath(new URL('../test/programs/records-invocation.mjs', import.meta.url))
  const PATH = `${path.dirname(process.execPath)}:${env.PATH}`
  await took(
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

interface Took {
  /** Until it is gone and all of its output is read. */
  ms: number
  /** Until its first output. */
  firstMs: number
}

/** From the start of the process. */
function took({ command, args, env }: Command, cwd: string): Promise<Took> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now()
    let firstMs = Number.NaN
    const child = spawn(command, args, { cwd, env, stdio: ['pipe', 'pipe', 'inherit'] })
    child.stdout.once('data', () => {
      firstMs = performance.now() - startedAt
    })
    child.stdout.resume()
    child.stdin.end(PROMPT)
    child.once('error', reject)
    child.once('close', code => {
      if (code === 0) resolve({ ms: performance.now() - startedAt, firstMs })
      else reject(new Error(`${command} exited with ${code}`))
    })
  })
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
