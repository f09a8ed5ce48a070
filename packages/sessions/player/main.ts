import { costText, type Envelope, type SessionState } from '@chirality/core'
import { Controls, listenForKeys } from './controls.ts'
import { element } from './dom.ts'
import { ReplayClock, Timeline } from './timeline.ts'
import { Transcript } from './transcript.ts'

// Before all else: the page is drawn while this file still runs.
const PHASES: Record<SessionState['phase'], string> = { idle: 'rests', running: 'works', waiting: 'waits' }

/** A reader who scrolled up wants to stay there. */
const FOLLOW_PX = 120

const data = JSON.parse(document.getElementById('session-data')?.textContent ?? '') as {
  session: { id: string; title: string | null; harness: string | null; model: string | null }
  envelopes: Envelope[]
}
const { session, envelopes } = data
const timeline = new Timeline(session.id, envelopes)
const clock = new ReplayClock(envelopes)
const transcript = new Transcript()
const facts = element('p', 'facts')

/** All of it is shown first: most readers want to read, not to watch. */
let count = envelopes.length
let speed = 1
let playing = false
let replayTime = 0
let lastFrame = 0

const actions = {
  toggle: () => {
    if (!playing && count >= envelopes.length) moveTo(0)
    setPlaying(!playing)
  },
  seek: (target: number) => {
    setPlaying(false)
    moveTo(target)
  },
  step: (by: number) => actions.seek(count + by),
  stepTurn: (by: 1 | -1) => actions.seek(turnFrom(by)),
  setSpeed: (value: number) => {
    speed = value
  },
  filter: (text: string, hiddenKinds: Parameters<typeof transcript.filter>[0]['hiddenKinds']) =>
    transcript.filter({ text, hiddenKinds }),
  changeSpeed: (by: 1 | -1) => controls.changeSpeed(by),
  focusFilter: () => controls.focusFilter(),
  clearFilter: () => controls.clearFilter(),
}
const controls = new Controls(envelopes.length, actions)

const heading = element('header', '', element('h1', '', session.title ?? 'Untitled session'), facts)
document.body.append(heading, transcript.root, controls.root)
listenForKeys(actions)
moveTo(count)

function moveTo(target: number): void {
  count = Math.max(0, Math.min(target, envelopes.length))
  replayTime = clock.timeOf(count)
  draw()
}

function setPlaying(value: boolean): void {
  playing = value
  lastFrame = performance.now()
  if (playing) requestAnimationFrame(frame)
  draw()
}

function frame(now: number): void {
  if (!playing) return
  replayTime += Math.max(0, now - lastFrame) * speed
  lastFrame = now
  const due = clock.countAt(replayTime)
  if (due !== count) {
    count = due
    draw()
  }
  if (count >= envelopes.length) setPlaying(false)
  else requestAnimationFrame(frame)
}

function draw(): void {
  const page = document.documentElement
  const follows = playing && page.scrollHeight - page.scrollTop - page.clientHeight < FOLLOW_PX
  const state = timeline.stateAfter(count)
  transcript.show(state)
  facts.replaceChildren(...factsOf(state))
  controls.show({ playing, count, time: timeAt(count) })
  if (follows) page.scrollTop = page.scrollHeight
}

function factsOf({ agent, phase, costUsd, costIsEstimate, turns }: SessionState): (Node | string)[] {
  const parts = [
    [agent.harness ?? session.harness, agent.model ?? session.model].filter(Boolean).join(' '),
    `${turns.length} ${turns.length === 1 ? 'turn' : 'turns'}`,
    costText({ usd: costUsd, isEstimate: costIsEstimate }),
  ]
  return [element('i', `dot ${phase}`), `${PHASES[phase]} · ${parts.filter(Boolean).join(' · ')}`]
}

function timeAt(position: number): string {
  const at = new Date(envelopes[Math.max(0, position - 1)]?.at ?? Number.NaN)
  return Number.isNaN(at.getTime()) ? '' : at.toLocaleString()
}

/** How many events there are up to the next or the previous message of the user. */
function turnFrom(by: 1 | -1): number {
  for (let i = count - 1 + by; i >= 0 && i < envelopes.length; i += by) {
    if (envelopes[i]?.event.type === 'turn:start') return i + 1
  }
  return by > 0 ? envelopes.length : 0
}
