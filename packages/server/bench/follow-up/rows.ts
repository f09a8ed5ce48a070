import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type CleanHome, claudeBinary, cleanHome } from '@chirality/fixtures'
import { startScriptedModel } from '@chirality/scripted-model'
import { type BenchRow, benchRow } from '../../../core/bench/report.ts'
import { median, percentile } from '../statistics.ts'
import { keptSdk } from './kept-sdk.ts'

const ROUNDS = 40
const WARM_UP_ROUNDS = 5
const OWN_WORK_MS = 5
const MOST_TIMES_SDK = 1.2

/** A follow-up over REST, to the agent's stdin and to its first text, beside the official SDK with a process that it keeps. */
export async function followUpRows(): Promise<BenchRow[]> {
  await using model = await startScriptedModel({ otherwise: 'The answer is the same every time.' })
  await using world = await cleanHome(model)
  const stdin = await stdinTimes(world)
  const own = stdin.map(({ ours, bare }) => ours - bare)
  const { ours, sdk, ratios } = await firstTexts(world)
  return [
    benchRow({
      name: "follow-up, request to the agent's stdin: ms above a bare server",
      ratio: median(own),
      bar: OWN_WORK_MS,
      better: 'lower',
      detail: `${show(stdin.map(({ ours }) => ours))}; bare ${show(stdin.map(({ bare }) => bare))}`,
    }),
    benchRow({
      name: 'follow-up, request to first text: of the kept official SDK',
      ratio: median(ratios),
      bar: MOST_TIMES_SDK,
      better: 'lower',
      detail: `${show(ours)}; SDK ${show(sdk)}`,
    }),
  ]
}

async function stdinTimes(world: CleanHome): Promise<{ ours: number; bare: number }[]> {
  const agent = fileURLToPath(new URL('stamping-agent.mjs', import.meta.url))
  const PATH = `${path.dirname(process.execPath)}:${world.env.PATH}`
  await using client = await openServer({ ...world, env: { ...world.env, PATH } }, agent)
  await using bare = await openBare(agent)
  const times: { ours: number; bare: number }[] = []
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round += 1) {
    const turn = await client.turn()
    const pair = { ours: Number(turn.text) - turn.sentAt, bare: await bare() }
    if (round >= 0) times.push(pair)
  }
  return times
}

async function openBare(agent: string) {
  const child = fork(fileURLToPath(new URL('bare-server.mjs', import.meta.url)), [agent])
  const [{ url }] = (await once(child, 'message')) as [{ url: string }]
  const toStdin = async () => {
    const sentAt = performance.timeOrigin + performance.now()
    const said = await (
      await fetch(url, { method: 'POST', body: JSON.stringify({ message: MESSAGE }) })
    ).text()
    return Number(/"result":"([\d.]+)"/.exec(said)?.[1]) - sentAt
  }
  const dispose = async () => {
    const exited = once(child, 'exit')
    child.disconnect()
    await exited
  }
  return Object.assign(toStdin, { [Symbol.asyncDispose]: dispose })
}

async function firstTexts(world: CleanHome): Promise<{ ours: number[]; sdk: number[]; ratios: number[] }> {
  await using client = await openServer(world, claudeBinary())
  await using kept = await keptSdk(world)
  const times = { ours: [] as number[], sdk: [] as number[], ratios: [] as number[] }
  // In turns, so that whatever else the machine does falls on both.
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round += 1) {
    const { textMs: ours } = await client.turn()
    const sdk = await kept.firstText(MESSAGE)
    if (round < 0) continue
    times.ours.push(ours)
    times.sdk.push(sdk)
    times.ratios.push(ours / sdk)
  }
  return times
}

const MESSAGE = 'Again, please.'

export async function openServer({ env, home, project }: CleanHome, binaryPath: string, sessions = 1) {
  const data = path.join(home, 'chirality', path.basename(binaryPath))
  mkdirSync(data, { recursive: true, mode: 0o700 })
  const options = JSON.stringify({ binaryPath, environment: env, project, home: data, sessions })
  const program = fileURLToPath(new URL('server.ts', import.meta.url))
  const execArgv = ['--import', 'tsx', '--conditions=@chirality/source']
  const child = fork(program, [options], { execArgv })
  const [{ url, token, sessionIds }] = (await once(child, 'message')) as [Address]
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ sessionId: sessionIds[0], message: MESSAGE })
  return {
    ...{ url, token, sessionIds },
    async turn() {
      const sentAt = performance.timeOrigin + performance.now()
      const response = await fetch(`${url}/api/harness/turn`, { method: 'POST', headers, body })
      let [textMs, said] = [Number.NaN, '']
      for await (const chunk of response.body ?? []) {
        said += Buffer.from(chunk).toString('utf8')
        if (Number.isNaN(textMs) && /^event: chat:(delta|message|complete)$/m.test(said))
          textMs = performance.timeOrigin + performance.now() - sentAt
      }
      const text = /^event: chat:complete\ndata: (.*)$/m.exec(said)?.[1]
      if (text === undefined) throw new Error(`A turn without an answer: ${response.status} ${said}`)
      return { sentAt, textMs, text: String(JSON.parse(text).text) }
    },
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit')
      child.send('close')
      await exited
    },
  }
}

interface Address {
  url: string
  token: string
  sessionIds: string[]
}

function show(times: number[]): string {
  const at = (share: number) => percentile(times, share).toFixed(1)
  return `p50 ${at(0.5)} ms [${at(0.25)} to ${at(0.75)}]`
}
