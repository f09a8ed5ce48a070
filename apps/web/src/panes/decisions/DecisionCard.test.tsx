// @vitest-environment happy-dom
import type { PermissionDecision, PermissionRequestEvent } from '@chirality/core'
import { act } from 'react'
import { describe, expect, test, vi } from 'vitest'
import { CannedServer } from '../../../test/support/canned-client.tsx'
import { buttonNamed, click, nameOf, render } from '../../../test/support/render.tsx'
import { aStatus } from '../../../test/support/statuses.ts'
import { FleetStore } from '../../state/fleet/fleet-store.ts'
import { FleetContext } from '../../state/fleet/use-fleet.ts'
import { DecisionCard } from './DecisionCard.tsx'

function card(fields: Partial<PermissionRequestEvent>, fleet = new FleetStore()) {
  const answers: PermissionDecision[] = []
  const modes: string[] = []
  const server = {
    'turns.setPermissionMode': ({ mode }: { mode: string }) => {
      modes.push(`${mode} after ${answers.length}`)
      return { from: 'now' }
    },
    'decisions.answer': ({ decision }: { decision: PermissionDecision }) => void answers.push(decision),
  }
  const request: PermissionRequestEvent = {
    type: 'permission:request',
    sessionId: 's',
    requestId: 'r',
    kind: 'tool',
    toolName: 'Bash',
    input: { command: 'npm test' },
    raw: { some: 'thing' },
    ...fields,
  }
  const page = render(
    <CannedServer answers={server}>
      <FleetContext value={fleet}>
        <DecisionCard request={request} />
      </FleetContext>
    </CannedServer>,
  )
  return { page, answers, modes }
}

test('always opens inside the card, says what it allows in words and as the rule, and is sent with its scope', () => {
  const always = { rule: 'allow Bash(npm test *)', words: 'every command that fits this pattern' }
  const { page, answers } = card({ always, input: { command: 'npm test', description: 'Runs the tests.' } })
  expect(page.textContent).toContain('“Runs the tests.”')
  expect(page.textContent).not.toContain('whatever follows')
  click(buttonNamed(page, 'Always…'))
  expect(answers).toEqual([])
  expect(page.querySelector('.decision__asked')?.textContent).toBe('npm test')
  expect([...page.querySelectorAll('.scopes__scope')].map(scope => scope.textContent)).toEqual([
    'npm test, whatever followsin this session',
    'npm test, whatever followsin this project, in every session',
  ])
  expect(page.textContent).toContain(
    'The rule is "allow Bash(npm test *)": every command that fits this pattern.',
  )
  expect(page.textContent).toContain('Take it back in Settings, Permissions.')
  click(buttonNamed(page, 'Allow and remember'))
  expect(answers).toEqual([{ behavior: 'allow', remember: 'always' }])
})

test('always for the session alone writes nothing, and says so', () => {
  const always = { rule: 'allow Bash(npm test)', words: 'this exact command' }
  const { page, answers } = card({ requestId: 'r-session', always })
  click(buttonNamed(page, 'Always…'))
  click(page.querySelectorAll('input[type=radio]')[0])
  expect(page.textContent).toContain('Nothing is written.')
  expect(page.textContent).not.toContain('Settings, Permissions')
  click(buttonNamed(page, 'Allow and remember'))
  expect(answers).toEqual([{ behavior: 'allow', remember: 'session' }])
})

test('the buttons stand as they are read: no at the left, yes at the right, one of them filled', () => {
  const always = { rule: 'allow Bash(npm test)', words: 'this exact command' }
  const { page } = card({ requestId: 'r-order', always })
  const buttons = () =>
    [...page.querySelectorAll('.decision__row button')].map(
      button => `${nameOf(button)}${button.classList.contains('button--primary') ? ' (filled)' : ''}`,
    )
  expect(buttons()).toEqual(['Deny…', 'Edit', 'Always…', 'Allow once (filled)'])
  click(buttonNamed(page, 'Always…'))
  expect(buttons()).toEqual(['Deny…', 'Edit', 'Allow once', 'Allow and remember (filled)'])
})

test('without a rule there is no "always", whatever the agent suggests', () => {
  const suggestions = [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }]
  const { page } = card({ suggestions })
  expect(buttonNamed(page, 'Allow once')).toBeDefined()
  expect(page.textContent).not.toContain('Always')
})

test('an answer is sent once', () => {
  const { page, answers } = card({})
  click(buttonNamed(page, 'Allow once'))
  click(buttonNamed(page, 'Allow once'))
  expect(answers).toHaveLength(1)
})

test('a question is answered when an option is chosen', () => {
  const questions = [{ question: 'Which colour?', options: [{ label: 'Red' }, { label: 'Blue' }] }]
  const { page, answers } = card({ kind: 'question', input: { questions } })
  expect(buttonNamed(page, 'Answer')?.disabled).toBe(true)
  click(page.querySelectorAll('input[type=radio]')[1])
  act(() => page.querySelector('form')?.requestSubmit())
  expect(answers).toEqual([
    { behavior: 'allow', updatedInput: { questions, answers: { 'Which colour?': 'Blue' } } },
  ])
})

test('own words are offered for a question unless its agent takes only its options', () => {
  const question = { question: 'Which colour?', options: [{ label: 'Red' }] }
  const free = card({ kind: 'question', input: { questions: [question] } })
  expect(free.page.textContent).toContain('Or in your own words')
  const bound = card({ kind: 'question', input: { questions: [{ ...question, onlyOptions: true }] } })
  expect(bound.page.querySelectorAll('input[type=radio]')).toHaveLength(1)
  expect(bound.page.textContent).not.toContain('Or in your own words')
})

test('a plan is taken, or dropped with the turn', () => {
  const { page, answers } = card({ kind: 'plan', input: { plan: '1. Read\n2. Write' } })
  expect(page.querySelectorAll('li')).toHaveLength(2)
  click(buttonNamed(page, 'Drop it and stop'))
  expect(answers).toEqual([{ behavior: 'deny', interrupt: true }])
})

test('a plan is taken with edits accepted: the mode is set once the answer is', async () => {
  const { page, answers, modes } = card({ kind: 'plan', requestId: 'r-plan', input: { plan: 'Do it.' } })
  click(buttonNamed(page, 'Go ahead and accept edits'))
  await vi.waitFor(() => expect(modes).toEqual(['acceptEdits after 1']))
  expect(answers).toEqual([{ behavior: 'allow' }])
})

test('a request of an unknown sort is shown whole', () => {
  const { page } = card({ kind: 'unknown', toolName: 'future/ask' })
  expect(page.textContent).toContain('future/ask')
  expect(page.textContent).toContain('"some": "thing"')
})

test('a policy file with an error is named, with the line, where no rule could answer', () => {
  const fleet = new FleetStore()
  const { page } = card({}, fleet)
  expect(page.textContent).not.toContain('policy file')
  const policyProblem = '/home/u/policy:3: "alow" is no effect. Write allow, ask or deny.'
  act(() => fleet.update([aStatus({ sessionId: 's', policyProblem })]))
  expect(page.textContent).toContain('No rule answered this: the policy file has an error.')
  expect(page.textContent).toContain(policyProblem)
})

describe('a dangerous request', () => {
  const risks = [
    { kind: 'delete' as const, part: 'rm -rf dist', words: 'Deletes dist with everything in it.' },
  ]
  const hold = (page: HTMLElement, name: string) => {
    const button = buttonNamed(page, name)
    act(() => button?.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true, button: 0 })))
    return button
  }

  test('says what can happen, marks the part of the command, and offers neither "always" nor a click', () => {
    const { page, answers } = card({ input: { command: 'ls && rm -rf dist' }, risks })
    expect(page.querySelector('h3')?.textContent).toBe('This can delete files')
    expect(page.querySelector('mark')?.textContent).toBe('rm -rf dist1')
    expect(page.textContent).toContain('Deletes dist with everything in it.')
    expect(buttonNamed(page, 'Allow once')).toBeUndefined()
    click(buttonNamed(page, 'Hold to run it once'))
    expect(answers).toEqual([])
    expect(buttonNamed(page, 'Press again to run it once')).toBeDefined()
    click(buttonNamed(page, 'Press again to run it once'))
    expect(answers).toEqual([{ behavior: 'allow' }])
  })

  test('runs when its button is held for a second, and not when it is let go before', () => {
    vi.useFakeTimers()
    try {
      const { page, answers } = card({ input: { command: 'rm -rf dist' }, risks })
      const button = hold(page, 'Hold to run it once')
      act(() => vi.advanceTimersByTime(900))
      act(() => button?.dispatchEvent(new PointerEvent('pointerup', { bubbles: true })))
      act(() => vi.advanceTimersByTime(5000))
      expect(answers).toEqual([])
      hold(page, 'Hold to run it once')
      act(() => vi.advanceTimersByTime(1000))
      expect(answers).toEqual([{ behavior: 'allow' }])
    } finally {
      vi.useRealTimers()
    }
  })
})
