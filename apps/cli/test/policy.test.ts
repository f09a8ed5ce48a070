import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { UIEvent } from '@chirality/core'
import { openSessionLog, PolicyBook, SessionStore } from '@chirality/sessions'
import { describe, expect, test } from 'vitest'
import { jsonLines } from './support/running-command.ts'
import { createWorld } from './support/world.ts'

async function policyWorld() {
  const world = await createWorld()
  const data = path.join(world.home, 'data')
  const { global, project: own } = new PolicyBook({ home: data }).places(world.project)
  mkdirSync(path.dirname(own), { recursive: true })
  mkdirSync(path.join(world.project, '.chirality'), { recursive: true })
  mkdirSync(path.join(world.project, 'agents'), { recursive: true })
  const write = (file: string, ...lines: string[]) =>
    writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 })
  const policy = (...args: string[]) => world.run(['policy', ...args], { env: { CHIRALITY_HOME: data } })
  return { ...world, data, global, own, theirs: path.join(world.project, '.chirality/policy'), write, policy }
}

/** A session in which three commands were asked about. */
async function recordSession({ project, data }: { project: string; data: string }): Promise<string> {
  const store = new SessionStore({ home: data })
  const { id: sessionId } = await store.create(project, null, 'direct')
  const log = await openSessionLog(project, sessionId)
  for (const [requestId, command] of Object.entries({
    a: 'git status',
    b: 'rm -rf \u001b[31mbuild',
    c: 'make',
  })) {
    const request: UIEvent = {
      type: 'permission:request',
      sessionId,
      requestId,
      kind: 'tool',
      toolName: 'Bash',
      input: { command },
      raw: null,
    }
    log.append(request, { turnId: 't1' })
    log.append(
      { type: 'permission:resolved', sessionId, requestId, outcome: 'allowed', by: 'person' },
      { turnId: 't1' },
    )
  }
  await log.close()
  return sessionId
}

describe('chirality policy check', () => {
  test('reports that there is no policy file', async () => {
    const { policy } = await policyWorld()
    expect(await policy('check')).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^No policy applies/),
    })
    expect(await policy('check', '--json')).toMatchObject({ code: 0, stderr: '', stdout: '' })
  })

  test('names each file, and what does nothing in it', async () => {
    const { policy, write, own, theirs, project } = await policyWorld()
    write(own, '# mine', 'allow Bash(git *)', 'ask *')
    write(theirs, 'deny Bash(rm *)', 'allow Bash')
    write(path.join(project, 'agents/AGENT_DEV.md'), '---', 'policy: [deny Bash]', '---', 'Work.')
    const { code, stdout, stderr } = await policy('check')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.split('\n')).toEqual([
      `✓ ${own}  yours, for this project, 2 rules`,
      '✓ .chirality/policy  the project’s, 2 rules',
      '    2: "allow Bash" does nothing here: only your own policy, outside of the project, can allow.',
      '✓ agents/AGENT_DEV.md  the persona’s, 1 rule',
      '',
    ])
  })

  test('names every error with its line, and exits with 2', async () => {
    const { policy, write, own, theirs, project } = await policyWorld()
    write(own, 'allow Bash(git *)', '', 'alow Read', 'deny Bash(')
    write(theirs, 'deny Bash')
    write(path.join(project, 'agents/AGENT_DEV.md'), '---', 'policy: [allow Bash]', '---', 'Work.')
    const text = await policy('check')
    expect(text).toMatchObject({ code: 2, stderr: '' })
    expect(text.stdout).toContain(
      `✗ ${own}  yours, for this project, not used\n    3: a rule begins with allow, ask or deny, not "alow". Did you mean "allow"?\n    4: `,
    )
    expect(text.stdout).toContain(
      '✗ agents/AGENT_DEV.md  the persona’s, not used\n    2: policy: "allow Bash" is not for a persona',
    )
    const { code, stdout } = await policy('check', '--json')
    expect(code).toBe(2)
    expect(jsonLines<object>(stdout)).toMatchObject([
      { kind: 'user-project', file: own, ok: false, problems: [{ line: 3 }, { line: 4 }] },
      { kind: 'project', ok: true, rules: 1, problems: [], warnings: [] },
      { kind: 'persona', ok: false, problems: [{ line: 2 }] },
    ])
  })

  test('a file that others can write, or a link, is not taken for the user’s own', async () => {
    const { policy, write, own, global } = await policyWorld()
    write(own, 'allow Bash')
    chmodSync(own, 0o666)
    symlinkSync(own, global)
    const { code, stdout } = await policy('check')
    expect(code).toBe(2)
    expect(stdout).toContain('can be written by others')
    expect(stdout).toContain('is a symbolic link')
  })
})

test('chirality policy show lists the rules in their order, and where they would be', async () => {
  const { policy, write, own, global, theirs } = await policyWorld()
  write(own, '# mine', 'deny Bash(rm *)', 'allow Bash(\u202egit *)')
  write(theirs, 'allow Bash')
  const { code, stdout, stderr } = await policy('show')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.split('\n')).toEqual([
    `${own}  yours, for this project`,
    '     2  deny Bash(rm *)',
    '     3  allow Bash(git *)',
    `${global}  yours, for every project, not there`,
    '.chirality/policy  the project’s',
    '     1  allow Bash  (does nothing here)',
    '',
  ])
  expect(jsonLines<object>((await policy('show', '--json')).stdout)).toMatchObject([
    {
      kind: 'user-project',
      file: own,
      exists: true,
      trusted: true,
      rules: [{ effect: 'deny', tool: 'Bash', pattern: 'rm *', line: 2 }, { line: 3 }],
    },
    { kind: 'user-global', file: global, exists: false, rules: [] },
    { kind: 'project', file: '.chirality/policy', trusted: false },
  ])
})

describe('chirality policy rehearse', () => {
  test('prints what would change, and the totals', async () => {
    const world = await policyWorld()
    const { policy, write, own } = world
    const id = await recordSession(world)
    write(own, 'allow Bash(git *)', 'deny Bash(rm *)')
    const { code, stdout, stderr } = await policy('rehearse')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const when = '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d'
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(new RegExp(`^${when}  ${id}  Bash  git status$`)),
      `    allowed by a person → allow  ${own}:1 allow Bash(git *)`,
      expect.stringMatching(new RegExp(`^${when}  ${id}  Bash  rm -rf build$`)),
      `    allowed by a person → deny  ${own}:2 deny Bash(rm *)`,
      '2 of 3 requests in 1 session would change. In all: 1 allowed, 1 asked, 1 denied.',
      '',
    ])
    const json = await policy('rehearse', '--json')
    expect(jsonLines<object>(json.stdout)).toEqual([
      expect.objectContaining({
        kind: 'change',
        sessionId: id,
        toolName: 'Bash',
        argument: 'git status',
        was: { outcome: 'allowed', by: 'person' },
        wouldBe: { effect: 'allow', rule: `${own}:1 allow Bash(git *)` },
      }),
      expect.objectContaining({
        kind: 'change',
        argument: 'rm -rf \u001b[31mbuild',
        wouldBe: { effect: 'deny', rule: `${own}:2 deny Bash(rm *)` },
      }),
      { kind: 'total', requests: 3, sessions: 1, changes: 2, allow: 1, ask: 1, deny: 1 },
    ])
  })

  test('tries a draft, from another folder', async () => {
    const world = await policyWorld()
    const { write, own, home, project, data } = world
    await recordSession(world)
    write(own, 'allow *')
    const draft = path.join(home, 'draft.policy')
    write(draft, 'ask *')
    const args = ['policy', 'rehearse', '--project', project, '--policy', 'draft.policy']
    const { code, stdout } = await world.run(args, { cwd: home, env: { CHIRALITY_HOME: data } })
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: '0 of 3 requests in 1 session would change. In all: 0 allowed, 3 asked, 0 denied.\n',
    })
    write(draft, 'ask')
    const broken = await world.run(args, { cwd: home, env: { CHIRALITY_HOME: data } })
    expect(broken).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(`${draft}:1: ask what?`),
    })
  })

  test('has nothing to say about a project without sessions', async () => {
    const { policy } = await policyWorld()
    expect(await policy('rehearse')).toMatchObject({
      code: 0,
      stdout: 'No agent has asked for anything in this project yet.\n',
    })
    expect(jsonLines<object>((await policy('rehearse', '--json')).stdout)).toMatchObject([
      { kind: 'total', requests: 0 },
    ])
  })
})

test('wrong usage gets an error that names the valid form', async () => {
  const { policy } = await policyWorld()
  for (const [args, message] of WRONG_USAGE)
    expect(await policy(...args)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    })
})

const WRONG_USAGE: [string[], string][] = [
  [[], 'Say what to do: policy knows check, show and rehearse.'],
  [['chekc'], 'policy knows check, show and rehearse, not "chekc". Did you mean policy check?'],
  [['check', 'x'], 'Unexpected argument "x".'],
  [['show', '--polcy', 'x'], 'Unknown option --polcy. Did you mean --policy?'],
  [['rehearse', '--policy', 'nowhere'], 'nowhere does not exist.'],
  [['rehearse', '--policy', '.'], 'is not a file.'],
  [['check', '--project', 'nowhere'], 'nowhere does not exist.'],
]
