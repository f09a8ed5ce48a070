import { setTimeout as pause } from 'node:timers/promises'
import type { HarnessInstallStatus, UIEvent } from '@chirality/core'
import { versionNote } from '@chirality/core'
import type { HarnessDescriptor } from '@chirality/runner'
import { BEHAVIOURS, type BehaviourId } from './behaviours.ts'
import { oneLine, reasonFirst } from './judging.ts'
import type { ConformanceReport, Finding } from './report.ts'
import { type Cast, SCENES, type Scene } from './scenes.ts'
import type { Stage } from './stage.ts'

export interface ConformanceOptions {
  descriptor: HarnessDescriptor
  /** The agent's program. Default: the one found on `path`. */
  binaryPath?: string | undefined
  /** PATH in which programs are found. */
  path: string
  /** Aborts the run. Everything that it started is ended and removed before the promise rejects. */
  signal?: AbortSignal | undefined
  /** Time limit of one turn. Default 45 s. */
  limitMs?: number | undefined
  /** Limits the run to scenes with these behaviours; `text` is always included. */
  only?: readonly BehaviourId[] | undefined
  /** Called with each finding. */
  onFinding?: ((finding: Finding) => void) | undefined
}

/**
 * Runs an agent through scripted conversations with a model on loopback. The agent has its own HOME, project and key:
 * the user's files are neither read nor changed, and no token is spent.
 */
export async function runConformance(options: ConformanceOptions): Promise<ConformanceReport> {
  const { descriptor, binaryPath, path, limitMs = LIMIT_MS, only, onFinding } = options
  const signal = options.signal ?? new AbortController().signal
  signal.throwIfAborted()
  const since = Date.now()
  const { id: harness, name } = descriptor.meta
  const about = { harness, name, at: new Date(since).toISOString() }
  // Imported on demand: a server that shows stored results needs no scripted model.
  const { Stage } = await import('./stage.ts')
  const stage = await Stage.set({ descriptor, binaryPath, path, signal, limitMs })
  const findings: Finding[] = []
  const add = (finding: Finding) => {
    const known = findings.findIndex(({ behaviour }) => behaviour === finding.behaviour)
    if (known < 0) findings.push(finding)
    // A later scene may reveal a fault that an earlier one could not, but never repairs a finding.
    else if (findings[known]?.outcome !== 'supported') return
    else findings[known] = { ...findings[known], ...finding }
    onFinding?.(finding)
  }
  try {
    const status = await (await stage.open()).checkInstallStatus()
    const refused = refusal(descriptor, status)
    if (refused !== undefined)
      return { ...about, ...versionOf(status, []), durationMs: Date.now() - since, refused, findings }
    const cast: Cast = { session: stage.session() }
    const scenes = SCENES.filter(
      scene => scene === SCENES[0] || only === undefined || scene.behaviours.some(id => only.includes(id)),
    )
    for (const scene of scenes) {
      signal.throwIfAborted()
      const answers = findings.length === 0 || findings[0]?.outcome !== 'missing'
      const played = answers
        ? await timed(() => play(scene, stage, { cast, limitMs, signal }))
        : nothing(scene, 'Not tried: it does not answer.')
      signal.throwIfAborted()
      for (const finding of played) add(finding)
    }
    add(unknownEvents(stage.shown, findings[0]?.outcome !== 'missing'))
    for (const finding of toldTwice(stage.late)) add(finding)
    return {
      ...about,
      ...versionOf(status, stage.shown),
      durationMs: Date.now() - since,
      findings: inOrder(findings),
    }
  } finally {
    await stage.clear()
  }
}

const LIMIT_MS = 45_000

/** Puts the findings in order; the first gets the duration of the scene. */
async function timed(play: () => Promise<Finding[]>): Promise<Finding[]> {
  const since = performance.now()
  const [first, ...more] = inOrder(await play())
  return first ? [{ ...first, durationMs: Math.round(performance.now() - since) }, ...more] : []
}

/** Plays one scene. Errors in it become findings. */
async function play(
  scene: Scene,
  stage: Stage,
  { cast, limitMs, signal }: { cast: Cast; limitMs: number; signal: AbortSignal },
): Promise<Finding[]> {
  const over = new AbortController()
  // A turn that does not end even when stopped must not block the others. A scene has at most two turns.
  const late = pause(limitMs * 2 + STOP_MS, undefined, { signal: over.signal, ref: false }).then(
    () => nothing(scene, 'It took too long, and could not be stopped.'),
    () => [],
  )
  // A stopped run does not wait for the scene: clearing the stage ends its processes.
  const stopped = new Promise<Finding[]>(resolve => {
    signal.addEventListener('abort', () => resolve([]), { once: true, signal: over.signal })
  })
  const playing = scene
    .play(stage, cast)
    .catch((error: unknown) =>
      nothing(scene, oneLine(reasonFirst(error instanceof Error ? error.message : String(error)))),
    )
  const findings = await Promise.race([playing, late, stopped])
  over.abort()
  return findings.map(finding => ({ ...finding, evidence: stage.withoutPaths(finding.evidence) }))
}

const STOP_MS = 20_000

function nothing({ behaviours }: Scene, evidence: string): Finding[] {
  return behaviours.map(behaviour => ({ behaviour, outcome: 'missing', evidence }))
}

function refusal({ meta }: HarnessDescriptor, status: HarnessInstallStatus): string | undefined {
  if (!status.installed) return status.authInstructions ?? `${meta.name} is not installed.`
  if (status.support !== 'too-old' || !meta.versions) return undefined
  const note = versionNote(status.support, meta.versions)
  return [`It is ${note}.`, meta.versions.update].filter(Boolean).join(' ')
}

function versionOf({ version }: HarnessInstallStatus, shown: UIEvent[]): { version?: string } {
  const told = shown.find(event => event.type === 'session:init')?.version
  const known = version ?? told
  return known === undefined ? {} : { version: known }
}

/** Reports an answer or an end that arrived after the turn was over. */
function toldTwice(late: UIEvent[]): Finding[] {
  const ended = late.some(({ type }) => type === 'session:complete')
  const goesOn = late.some(({ type }) => type === 'chat:complete' || type === 'chat:message')
  if (!ended && !goesOn) return []
  const evidence = ended
    ? 'It ends a turn twice: a second end came after the first.'
    : 'It goes on with its answer after the end of the turn.'
  return [{ behaviour: 'text', outcome: 'differs', evidence }]
}

/** Reports drift: events that Chirality keeps and shows without understanding them. */
function unknownEvents(shown: UIEvent[], answers: boolean): Finding {
  const kinds = new Set(shown.flatMap(event => (event.type === 'native:unknown' ? [kindOf(event.raw)] : [])))
  const behaviour = 'events'
  if (!answers) return { behaviour, outcome: 'missing', evidence: 'Not tried: it does not answer.' }
  if (kinds.size === 0)
    return { behaviour, outcome: 'supported', evidence: `${shown.length} events, all known.` }
  const named = [...kinds].slice(0, 5).join(', ')
  return { behaviour, outcome: 'differs', evidence: `${kinds.size} kinds are not known: ${named}` }
}

function kindOf(raw: unknown): string {
  const { type, subtype, method, params } = (raw ?? {}) as Record<string, unknown>
  const update = ((params ?? {}) as { update?: { sessionUpdate?: unknown } }).update?.sessionUpdate
  const words = [type, subtype, method, update].filter(word => typeof word === 'string')
  return words.length > 0 ? words.join('/').slice(0, 60) : 'a line that is no event'
}

function inOrder(findings: Finding[]): Finding[] {
  const order = Object.keys(BEHAVIOURS)
  return findings.toSorted((a, b) => order.indexOf(a.behaviour) - order.indexOf(b.behaviour))
}
