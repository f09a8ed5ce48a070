import { Socket } from 'node:net'
import { CageError, type CagePlan, type CageTry, type KeeperAnswer } from '@chirality/cage'
import { MARKER_VARIABLE } from '../system/leftovers.ts'
import { sendSignal } from '../system/process-table.ts'
import { type StartedProgram, type StartOptions, startProgram } from './start-program.ts'

/**
 * Starts the keeper of a cage, and resolves when the agent has begun in it. The plan goes over a socket that only the two
 * have: it contains keys. Rejects with a CageError, and leaves no process, if an attempt to leave the cage got through.
 */
export async function startCaged(
  command: string,
  args: readonly string[],
  { cage, ...options }: StartOptions & { cage: CagePlan },
): Promise<StartedProgram & { tries: readonly CageTry[] }> {
  const [stdin, stdout, stderr] = options.stdio
  const program = await startProgram(command, args, { ...options, stdio: [stdin, stdout, stderr, 'pipe'] })
  try {
    const marker = options.env?.[MARKER_VARIABLE]
    const env = marker === undefined ? cage.env : { ...cage.env, [MARKER_VARIABLE]: marker }
    const answer = await exchange(program, { ...cage, env })
    if (answer.kind === 'refused') throw new CageError('not-held', answer.reason)
    return { ...program, tries: answer.tries }
  } catch (error) {
    await endKeeper(program)
    throw error
  }
}

/** A keeper that refuses ends its cage and itself. One that does neither is killed, and its cage with it. */
async function endKeeper({ child, pid }: StartedProgram): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise(resolve => child.once('exit', resolve))
  const timer = setTimeout(() => sendSignal(pid, 'SIGKILL'), END_MS)
  await exited
  clearTimeout(timer)
}

function exchange({ child }: StartedProgram, plan: CagePlan): Promise<KeeperAnswer> {
  const channel = child.stdio[3]
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new CageError('not-held', `The cage could not be made: ${why}.`))
    if (!(channel instanceof Socket)) return fail('its keeper has no channel')
    const timer = setTimeout(() => fail(`its keeper did not answer within ${LIMIT_MS / 1000} s`), LIMIT_MS)
    let text = ''
    channel.setEncoding('utf8')
    channel.on('error', () => {})
    channel.on('data', (chunk: string) => {
      text += chunk
      if (!text.endsWith('\n')) return
      clearTimeout(timer)
      resolve(JSON.parse(text) as KeeperAnswer)
    })
    child.once('exit', (code, signal) => {
      clearTimeout(timer)
      fail(`its keeper exited with ${signal ?? `code ${code}`}`)
    })
    channel.write(`${JSON.stringify(plan)}\n`)
  })
}

/** The probe takes a tenth of a second; a machine under load gets a minute, and then the turn fails instead of hanging. */
const LIMIT_MS = 60_000
const END_MS = 5_000
