import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { PermissionRequestEvent } from '@chirality/core'
import { DecisionBroker, PolicyBook } from '@chirality/sessions'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { realPath } from '../../src/files/real-path.ts'
import { permissionRequest } from './permission-request.ts'

let folder: string
let root: string
let home: string
let book: PolicyBook

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'policy-')))
  root = join(folder, 'project')
  home = join(folder, 'home')
  mkdirSync(join(root, '.chirality'), { recursive: true })
  mkdirSync(join(root, 'agents'))
  mkdirSync(join(home, 'policies'), { recursive: true })
  book = new PolicyBook({ home })
})

afterEach(() => rmSync(folder, { recursive: true }))

const request = (changes: Partial<PermissionRequestEvent> = {}) =>
  permissionRequest({ input: { command: 'git status' }, ...changes })

function context(persona: string | null = null) {
  return { sessionId: 's1', projectRoot: root, persona, harness: 'messages-api' as const }
}

const judge = (changes: Partial<PermissionRequestEvent> = {}, persona: string | null = null) =>
  book.judge(context(persona), request(changes))

function write(path: string, ...lines: string[]): void {
  writeFileSync(path, lines.map(line => `${line}\n`).join(''), { mode: 0o600 })
}

const ownFile = () => book.places(root).project
const projectFile = () => join(root, '.chirality/policy')

test('what the caller of a turn allows holds in its folder, and gives way to rules and to protected files', async () => {
  const allows = ['Bash', 'Edit'].map((tool, at) => ({
    effect: 'allow',
    tool,
    line: at,
    text: `allow ${tool}`,
  }))
  const asks = (toolName: string, input: Record<string, unknown>, changes = {}) =>
    book.judge({ ...context(), allows } as never, request({ toolName, input, ...changes }))
  const allowed = (tool: string) => ({ effect: 'allow', rule: `turn: allow ${tool}` })
  expect(await asks('command', { command: 'npm test' })).toEqual(allowed('Bash'))
  expect(await asks('Edit', { file_path: join(root, 'a.ts') })).toEqual(allowed('Edit'))
  for (const outside of [join(folder, 'a.ts'), '../a.ts', '/etc/hosts'])
    expect(await asks('Edit', { file_path: outside })).toEqual({ effect: 'ask' })
  expect(await asks('Edit', { file_path: projectFile() })).toEqual({ effect: 'ask' })
  expect(await asks('command', { command: 'echo allow Bash > .chirality/policy' })).toEqual({ effect: 'ask' })
  expect(await asks('command', { command: 'npm test', cwd: '/' })).toEqual({ effect: 'ask' })
  expect(await asks('WebFetch', { url: 'https://a.example' })).toEqual({ effect: 'ask' })
  // What is asked for is not in the command: the network, as Codex asks for it, a folder, or nothing that is known.
  const network = { host: 'example.test', protocol: 'https' }
  for (const input of [{ network }, { command: 'npm test', network }, { script: 'npm test' }, {}])
    expect(await asks('command', input)).toEqual({ effect: 'ask' })
  expect(await asks('Edit', { grantRoot: root })).toEqual({ effect: 'ask' })
  const every = { allows: [{ effect: 'allow', tool: '*', line: 1, text: 'allow *' }] }
  const anything = (toolName: string, input: Record<string, unknown>) =>
    book.judge({ ...context(), ...every } as never, request({ toolName, input }))
  expect(await anything('request_permissions', { permissions: { network: { enabled: true } } })).toEqual({
    effect: 'ask',
  })
  expect(await anything('mcp__files__stat', { name: 'a' })).toEqual(allowed('*'))
  expect(await asks('command', { command: 'npm test' }, { kind: 'plan' })).toEqual({ effect: 'ask' })
  write(ownFile(), 'ask Bash(npm *)', 'deny Bash(rm *)')
  expect(await asks('command', { command: 'npm test' })).toMatchObject({
    effect: 'ask',
    rule: expect.any(String),
  })
  expect(await asks('command', { command: 'rm -r a' })).toMatchObject({ effect: 'deny' })
  expect(await asks('command', { command: 'ls' })).toEqual(allowed('Bash'))
  write(ownFile(), 'alow Bash')
  expect(await asks('command', { command: 'ls' })).toMatchObject({
    effect: 'ask',
    problem: expect.any(String),
  })
})

describe('files', () => {
  test('without a policy file the user is asked', async () => {
    expect(await judge()).toEqual({ effect: 'ask' })
  })

  test('the user may allow, for a project and for all; the record names file and line', async () => {
    write(book.places(root).global, '# for all', 'allow Bash(git *)')
    expect(await judge()).toEqual({
      effect: 'allow',
      rule: `${join(home, 'policies/global.policy')}:2 allow Bash(git *)`,
    })
    write(ownFile(), 'deny Bash(git *)')
    expect(await judge()).toEqual({ effect: 'deny', rule: `${ownFile()}:1 deny Bash(git *)` })
  })

  test('one project has one file, whichever link leads to it', () => {
    symlinkSync(root, join(folder, 'link'))
    expect(book.places(join(folder, 'link'))).toEqual(book.places(root))
  })

  test('the project may only ask and deny', async () => {
    write(projectFile(), 'allow Bash')
    expect(await judge()).toEqual({ effect: 'ask' })
    write(book.places(root).global, 'allow Bash')
    expect((await judge()).effect).toBe('allow')
    write(projectFile(), 'deny Bash(git *)')
    expect(await judge()).toEqual({ effect: 'deny', rule: '.chirality/policy:1 deny Bash(git *)' })
  })

  test('a data folder inside the project is the project’s: an agent can write there', async () => {
    book = new PolicyBook({ home: join(root, 'home') })
    mkdirSync(dirname(ownFile()), { recursive: true })
    write(ownFile(), 'allow Bash')
    expect((await judge()).effect).toBe('ask')
    symlinkSync(join(root, 'home'), join(folder, 'elsewhere'))
    book = new PolicyBook({ home: join(folder, 'elsewhere') })
    expect((await judge()).effect).toBe('ask')
  })

  test('a change counts at once, also one that leaves the size and the time as they were', async () => {
    write(ownFile(), 'allow Bash')
    const past = new Date('2026-01-01')
    utimesSync(ownFile(), past, past)
    expect((await judge()).effect).toBe('allow')
    expect((await judge()).effect).toBe('allow')
    write(ownFile(), 'deny  Bash')
    utimesSync(ownFile(), past, past)
    expect((await judge()).effect).toBe('deny')
    rmSync(ownFile())
    expect((await judge()).effect).toBe('ask')
  })

  test.each([
    ['a syntax error', () => write(ownFile(), 'allow Bash', 'allow'), ':2: allow what?'],
    [
      'another encoding',
      () => writeFileSync(ownFile(), Buffer.from([0x61, 0xff]), { mode: 0o600 }),
      'is not UTF-8',
    ],
    ['a folder', () => mkdirSync(ownFile()), 'is not a file'],
    ['a link', () => symlinkSync('/etc/hostname', ownFile()), 'is a symbolic link'],
    ['too much', () => writeFileSync(ownFile(), '#'.repeat(300_000), { mode: 0o600 }), 'larger than'],
    ['a mode that lets others write', () => chmodAfter(0o622), 'can be written by others'],
  ])('%s: everything asks, and says why', async (_what, make, problem) => {
    write(book.places(root).global, 'allow *')
    make()
    expect(await judge()).toEqual({ effect: 'ask', problem: expect.stringContaining(problem) })
  })

  function chmodAfter(mode: number): void {
    write(ownFile(), 'allow Bash')
    chmodSync(ownFile(), mode)
  }

  test('the sources are listed in their order, also what is missing', async () => {
    write(join(root, 'agents/AGENT_DEV.md'), '---', 'policy: [ask Bash]', '---', 'Work.')
    expect(
      (await book.sources(root, 'DEV')).map(({ kind, exists, trusted }) => [kind, exists, trusted]),
    ).toEqual([
      ['user-persona', false, true],
      ['user-project', false, true],
      ['user-global', false, true],
      ['persona', true, false],
      ['project', false, false],
    ])
    expect((await book.sources(root)).map(({ kind }) => kind)).toEqual([
      'user-project',
      'user-global',
      'project',
    ])
  })
})

describe('personas', () => {
  const persona = (...frontmatter: string[]) =>
    write(join(root, 'agents/AGENT_DEV.md'), '---', ...frontmatter, '---', 'Work.')

  test('a persona is stricter than the user, and has a line', async () => {
    write(ownFile(), 'allow Bash')
    persona('policy:', '  - deny Bash(git *)')
    expect(await judge({}, 'DEV')).toEqual({ effect: 'deny', rule: 'agents/AGENT_DEV.md:3 deny Bash(git *)' })
    expect((await judge()).effect).toBe('allow')
  })

  test('the user can allow for one persona', async () => {
    persona('max_turns: 3')
    write(ownFile().replace(/\.policy$/, '.DEV.policy'), 'allow Bash(git *)')
    expect((await judge({}, 'DEV')).effect).toBe('allow')
    expect((await judge({}, null)).effect).toBe('ask')
  })

  test('one that is broken, or gone, lets nothing pass', async () => {
    write(ownFile(), 'allow Bash')
    persona('policy: [allow Bash]')
    expect(await judge({}, 'DEV')).toEqual({
      effect: 'ask',
      problem: expect.stringMatching(/^agents\/AGENT_DEV.md:2: policy: .*not for a persona/),
    })
    expect(await judge({}, 'OTHER')).toEqual({
      effect: 'ask',
      problem: expect.stringContaining('agents/AGENT_OTHER.md: does not exist'),
    })
    expect((await judge({}, '../x')).effect).toBe('ask')
  })
})

describe('paths', () => {
  const write_ = (file_path: string) => judge({ toolName: 'Write', input: { file_path, content: '' } })

  test('a symlink is judged by its target', async () => {
    write(ownFile(), 'deny Write(../outside/**)', 'allow Write(src/**)')
    mkdirSync(join(root, 'src'))
    mkdirSync(join(folder, 'outside'))
    symlinkSync(join(folder, 'outside'), join(root, 'src/out'))
    symlinkSync(join(folder, 'other/not-there-yet'), join(root, 'src/dangling'))
    symlinkSync('loop', join(root, 'src/loop'))
    expect((await write_(join(root, 'src/new/file'))).effect).toBe('allow')
    expect((await write_('src/a')).effect).toBe('allow')
    expect((await write_(join(root, 'src/out/file'))).effect).toBe('deny')
    expect((await write_(`${root}/src/out/../x`)).effect).toBe('ask')
    expect((await write_(join(root, 'src/dangling'))).effect).toBe('ask')
    expect((await write_(`${root}/src/../src/a`)).effect).toBe('allow')
    expect((await write_(`${root}/src/../../x`)).effect).toBe('ask')
  })

  test('realPath goes the way the kernel goes', () => {
    mkdirSync(join(folder, 'a/b'), { recursive: true })
    symlinkSync('a/b', join(folder, 'l'))
    symlinkSync('../nothing', join(folder, 'a/d'))
    expect(realPath(join(folder, 'l'))).toBe(realpathSync(join(folder, 'l')))
    expect(realPath(`${folder}/l/../c`)).toBe(join(folder, 'a/c'))
    expect(realPath('l/./x', folder)).toBe(join(folder, 'a/b/x'))
    expect(realPath(`${folder}/a/d/x`)).toBe(join(folder, 'nothing/x'))
    expect(realPath('/../../x')).toBe('/x')
  })
})

describe('"always"', () => {
  test.each<[string, Partial<PermissionRequestEvent>, string]>([
    ['a command', {}, 'allow Bash(git status)'],
    [
      'a command with operators and stars',
      { input: { command: 'ls *.ts | wc -l && echo "\\*"' } },
      'allow Bash(ls \\*.ts | wc -l && echo "\\\\\\*")',
    ],
    ['a command of two lines', { input: { command: 'ls\nrm x' } }, 'allow Bash(ls\\nrm x)'],
    ['a file', { toolName: 'write', input: { path: 'a*b' } }, 'allow write(ROOT/a\\*b)'],
    [
      'an address',
      { toolName: 'WebFetch', input: { url: 'https://example.org/a?b#c' } },
      'allow WebFetch(https://example.org/a?b)',
    ],
    ['an MCP tool', { toolName: 'mcp__db__read', input: { q: 1 } }, 'allow mcp__db__read({"q":1})'],
    ['another tool', { toolName: 'other', input: { b: 1, a: '*' } }, 'allow other({"a":"\\*","b":1})'],
  ])('%s: the narrowest rule is written to the user’s policy, and holds', async (_what, changes, rule) => {
    await book.allowAlways(context(), request(changes))
    await book.allowAlways(context(), request(changes))
    const written = rule.replace('ROOT', root)
    expect(readFileSync(ownFile(), 'utf8')).toBe(
      `# What is allowed, asked about or denied in "${root}"\n${written}\n`,
    )
    expect(statSync(ownFile()).mode & 0o777).toBe(0o600)
    expect(await judge(changes)).toEqual({ effect: 'allow', rule: `${ownFile()}:2 ${written}` })
    expect((await judge({ toolName: 'Bash', input: { command: 'git status -s' } })).effect).toBe('ask')
  })

  test.each<[string, Partial<PermissionRequestEvent>]>([
    ['a command with a tab', { input: { command: 'ls\tx' } }],
    ['a command without the sandbox', { input: { command: 'ls', dangerouslyDisableSandbox: true } }],
    ['several files', { toolName: 'file_change', input: { changes: [{ path: 'a' }, { path: 'b' }] } }],
    ['a password in an address', { toolName: 'WebFetch', input: { url: 'https://a:b@example.org' } }],
    ['no address', { toolName: 'WebFetch', input: { url: 'x' } }],
  ])('%s makes no rule', async (_what, changes) => {
    await expect(book.allowAlways(context(), request(changes))).rejects.toThrow()
    expect((await book.sources(root))[0]?.exists).toBe(false)
  })

  test('many at once are all kept, behind what is there', async () => {
    writeFileSync(ownFile(), 'deny Bash(rm *)', { mode: 0o600 })
    const commands = Array.from({ length: 20 }, (_, n) => `echo ${n}`)
    await Promise.all(commands.map(command => book.allowAlways(context(), request({ input: { command } }))))
    const lines = readFileSync(ownFile(), 'utf8').trim().split('\n')
    expect(lines).toEqual(['deny Bash(rm *)', ...commands.map(command => `allow Bash(${command})`)])
  })

  test('makes the data folder if it is missing, for its owner only', async () => {
    rmSync(home, { recursive: true })
    await book.allowAlways(context(), request())
    expect(statSync(join(home, 'policies')).mode & 0o777).toBe(0o700)
  })

  test('through the broker: asked once, then answered by the file', async () => {
    const broker = new DecisionBroker({ policies: book })
    const waits = new Promise<void>(resolve => broker.onChange(() => resolve()))
    const first = broker.ask(context(), request(), new AbortController().signal)
    await waits
    broker.answer('s1', 'r1', { behavior: 'allow', remember: 'always' })
    expect(await first).toMatchObject({ behavior: 'allow', by: 'person' })
    await book.flushed()
    const next = await new DecisionBroker({ policies: book }).ask(
      context(),
      request(),
      new AbortController().signal,
    )
    expect(next).toEqual({ behavior: 'allow', by: 'policy', rule: `${ownFile()}:2 allow Bash(git status)` })
  })
})

test('"always" for a call of an MCP server is for this very call: other arguments are asked about', async () => {
  const refund = (amount: number) => ({ toolName: 'mcp__shop__refund', input: { order: 'A1', amount } })
  await book.allowAlways(context(), request(refund(5)))
  expect((await judge(refund(5))).effect).toBe('allow')
  expect((await judge(refund(99_999))).effect).toBe('ask')
})

test.each([
  [
    'Bash',
    { command: 'npm test -- x' },
    [{ toolName: 'Bash', ruleContent: 'npm test:*' }],
    ['allow Bash(npm test:*)'],
  ],
  ['mcp__shop__refund', { order: 'A1' }, [{ toolName: 'mcp__shop__refund' }], ['allow mcp__shop__refund']],
  // As it is read here the suggested rule does not cover a command with a second one in it.
  [
    'Bash',
    { command: 'cd x && npm test' },
    [{ toolName: 'Bash', ruleContent: 'npm test:*' }],
    ['allow Bash(cd x && npm test)'],
  ],
])(
  '"always" writes the rule of %s that the agent suggested, and covers the call %j',
  async (toolName, input, rules, lines) => {
    const suggestion = { type: 'addRules', rules, behavior: 'allow', destination: 'localSettings' }
    const asked = { toolName, input, suggestions: [suggestion] }
    await book.allowAlways(context(), request(asked))
    const written = readFileSync(ownFile(), 'utf8').split('\n')
    expect(written.filter(line => line.startsWith('allow'))).toEqual(lines)
    expect(await judge(asked)).toMatchObject({ effect: 'allow' })
  },
)

describe('removeRule', () => {
  test('a rule that is taken back holds no longer, and the lines around it stay', async () => {
    write(ownFile(), '# mine', 'allow Bash(git status)', 'deny Bash(git push *)')
    expect(await judge()).toMatchObject({ effect: 'allow' })
    expect(await book.removeRule(root, 'project', { line: 2, text: 'allow Bash(git status)' })).toBe(true)
    expect(readFileSync(ownFile(), 'utf8')).toBe('# mine\ndeny Bash(git push *)\n')
    expect(await judge()).toEqual({ effect: 'ask' })
  })

  test.each([
    ['another rule stands there by now', { line: 1, text: 'allow Bash(git log)' }],
    ['there is no such line', { line: 9, text: 'allow Bash(git status)' }],
    ['an empty line', { line: 2, text: 'allow Bash(git status)' }],
  ])('%s: nothing is written', async (_case, rule) => {
    write(ownFile(), 'allow Bash(git status)', '')
    expect(await book.removeRule(root, 'project', rule)).toBe(false)
    expect(readFileSync(ownFile(), 'utf8')).toBe('allow Bash(git status)\n\n')
  })

  test('without a file there is nothing to take back', async () => {
    expect(await book.removeRule(root, 'global', { line: 1, text: 'allow Read' })).toBe(false)
  })
})
