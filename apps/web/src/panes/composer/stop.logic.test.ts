import { expect, test } from 'vitest'
import { stoppedWords, stopStep } from './stop.logic.ts'

const base = {
  asked: null,
  busy: true,
  reason: null,
  exit: null,
  phase: 'running',
  leftovers: null,
} as const
const exit = { turnId: 't', code: null, signal: 'SIGKILL', leftRunning: 0 }

test.each([
  ['a turn at work can be stopped', base, { kind: 'can-stop' }],
  ['asked, it has time to heed', { ...base, asked: { killed: false } }, { kind: 'asked' }],
  ['ended by force', { ...base, asked: { killed: true } }, { kind: 'ending' }],
  [
    'the turn is over, its processes not yet',
    { ...base, busy: false, asked: { killed: false }, reason: 'interrupted', phase: 'ending' },
    { kind: 'ending' },
  ],
  [
    'all gone',
    { ...base, busy: false, asked: { killed: false }, reason: 'interrupted', phase: 'idle', exit },
    { kind: 'stopped', left: 0, agentKept: false, sure: true },
  ],
  [
    'an agent that stays is counted by the server',
    { ...base, busy: false, asked: { killed: false }, reason: 'interrupted', phase: 'idle' },
    { kind: 'stopped', left: null, agentKept: false, sure: false },
  ],
  [
    'and is no leftover',
    {
      ...base,
      busy: false,
      asked: { killed: false },
      reason: 'interrupted',
      phase: 'idle',
      leftovers: { agentKept: true, left: 0, sure: true },
    },
    { kind: 'stopped', left: 0, agentKept: true, sure: true },
  ],
  ['nobody stopped it', { ...base, busy: false, phase: 'idle', reason: 'completed', exit }, { kind: 'none' }],
] as const)('%s', (_name, facts, step) => expect(stopStep(facts)).toEqual(step))

test.each([
  [{ left: null, agentKept: false, sure: false }, 'Stopped'],
  [{ left: 0, agentKept: false, sure: true }, 'Stopped · 0 processes left'],
  [{ left: 0, agentKept: true, sure: true }, 'Stopped · 0 processes left, agent kept ready'],
  [{ left: 0, agentKept: true, sure: false }, 'Stopped · 0 processes found, agent kept ready'],
  [{ left: 1, agentKept: false, sure: false }, 'Stopped · 1 process left'],
])('%j is said as %s', (step, words) => expect(stoppedWords(step)).toBe(words))
