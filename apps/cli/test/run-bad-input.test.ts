import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { claudeBinary } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { asked } from './support/requests.ts'
import { jsonLines } from './support/running-command.ts'
import { createWorld, program } from './support/world.ts'

/** What the user reads. The pointer to the help follows every message about usage. */
function usage(message: string) {
  return { code: 2, signal: null, stdout: '', stderr: `chirality: ${message}\nSee \`chirality --help\`.\n` }
}

describe('a wrong command line', () => {
  const DASH = 'An argument that begins with a dash goes after "--".'
  test.each([
    [['--modle', 'x', 'Hi'], 'Unknown option --modle. Did you mean --model?'],
    [['--jsn', 'Hi'], 'Unknown option --jsn. Did you mean --json?'],
    [['--constructor', 'Hi'], `Unknown option --constructor. ${DASH}`],
    [['-x', 'Hi'], `Unknown option -x. ${DASH}`],
    [['--help is what I need'], `Unknown option --help is what I need. ${DASH}`],
    [['Hi', '--model'], '--model needs a value.'],
    [['Hi', '--model', '--json'], '--model needs a value. If it begins with a dash, write --model=--json.'],
    [['Hi', '--project', ''], '--project is empty. Leave it out or give a value.'],
    [['Hi', '--model', 'a', '--model', 'b'], '--model is given twice.'],
    [['Hi', '--json=yes'], '--json takes no value.'],
    [['Hi', '--where', 'build-1'], '--where names a machine of a fleet, and this one is in none.'],
    [
      ['Hi', '--harness', 'gemini'],
      '--harness must be one of claude-code, codex, agent-sdk, messages-api, not "gemini".',
    ],
    [
      ['Hi', '--harness', 'claude-cod'],
      '--harness must be one of claude-code, codex, agent-sdk, messages-api, not "claude-cod". Did you mean claude-code?',
    ],
    [
      ['Hi', '--harness', 'codex', '--tools', ''],
      '--tools does not work with codex: Codex has no tools to choose by name. Use --permission-mode.',
    ],
    [
      ['Hi', '--harness', 'codex', '--allow', 'Read'],
      '--allow does not work with codex: Codex has no tools to choose by name. Use --permission-mode.',
    ],
    [
      ['Hi', '--harness', 'codex', '--max-turns', '3'],
      '--max-turns does not work with codex: Codex counts no rounds. Use --timeout.',
    ],
    [
      ['Hi', '--permission-mode', 'acceptedits'],
      '--permission-mode must be one of default, acceptEdits, auto, dontAsk, plan, bypassPermissions, not "acceptedits". Did you mean acceptEdits?',
    ],
    [['Hi', '--mode', 'fast'], '--mode must be one of workbench, pipeline, direct, not "fast".'],
    [['Hi', '--max-turns', '0'], '--max-turns must be a whole number from 1 to 1000000, not "0".'],
    [['Hi', '--max-turns', 'many'], '--max-turns must be a whole number from 1 to 1000000, not "many".'],
    [['Hi', '--timeout', '1.5'], '--timeout must be a whole number from 1 to 2147483, not "1.5".'],
    [['Hi', '--timeout', '2147484'], '--timeout must be a whole number from 1 to 2147483, not "2147484".'],
    [['Hi', '--session', '../x'], '--session must be the id of a session, not "../x".'],
    [['Hi', '--allow', 'Bash(git'], '--allow has an unbalanced bracket: Bash(git'],
    [['two', 'prompts'], 'One prompt is expected, 2 were given. Put it in quotes if it has spaces.'],
    [[''], 'The prompt is empty. Say what the agent should do.'],
    [[' \n\t '], 'The prompt is empty. Say what the agent should do.'],
    [['-'], 'The prompt is empty. Say what the agent should do.'],
    [[], 'The prompt is empty. Say what the agent should do.'],
  ])('run %j', async (args, message) => {
    const { run, project } = await createWorld()
    expect(await run(['run', ...args])).toEqual(usage(message))
    expect(existsSync(path.join(project, '.chirality'))).toBe(false)
  })

  test('a value that Claude Code would take for a flag', async () => {
    const { run } = await createWorld()
    const { code, stdout, stderr } = await run(['run', 'Hi', '--model=--continue', '--json'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^chirality: model is "--continue": it must not/)
  })
})

describe('an agent that cannot be started', () => {
  const INSTALL =
    'Install it with `npm install -g @anthropic-ai/claude-code`, or set CHIRALITY_CLAUDE_BIN to the binary.'

  test.each([
    ['is missing', () => {}, 'does not exist. Install it or correct the path.'],
    [
      'is not executable',
      (file: string) => writeFileSync(file, '#!/bin/sh\n'),
      'is not executable. Run: chmod +x',
    ],
    ['is a folder', (file: string) => mkdirSync(file), 'is not a file. Give the path of the program itself.'],
  ])('ends with 3 when the binary %s', async (_what, make, message) => {
    const { run, home, project } = await createWorld()
    const file = path.join(home, 'claude')
    make(file)
    const { code, stdout, stderr } = await run(['run', 'Hi', '--json'], {
      env: { CHIRALITY_CLAUDE_BIN: file },
    })

    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toContain(`chirality: claude-code is not installed. ${file} ${message}`)
    expect(stderr).toContain(INSTALL)
    expect(readdirSync(path.join(project, '.chirality', 'sessions'))).toEqual([])
    expect(readdirSync(path.join(project, '.chirality', 'events'))).toEqual([])
  })

  test('ends with 3 when its interpreter is not there', async () => {
    const { run, home, spools } = await createWorld()
    const file = path.join(home, 'claude')
    writeFileSync(file, '#!/no/such/interpreter\n')
    chmodSync(file, 0o755)
    const { code, stdout, stderr } = await run(['run', 'Hi', '--json'], {
      env: { CHIRALITY_CLAUDE_BIN: file },
    })

    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toContain(`${file} cannot be run on this machine`)
    expect(spools()).toEqual([])
  })
})

describe('a project that cannot be used', () => {
  test('is missing', async () => {
    const { run, home } = await createWorld()
    const folder = path.join(home, 'nowhere')
    expect(await run(['run', 'Hi', '--json', '--project', folder])).toEqual(
      usage(`The project folder ${folder} does not exist. Name an existing one with --project.`),
    )
  })

  test('is a file', async () => {
    const { run, home } = await createWorld()
    const file = path.join(home, 'file')
    writeFileSync(file, '')
    expect(await run(['run', 'Hi', '--json', '--project', file])).toEqual(
      usage(`The project folder ${file} is not a folder. Name an existing one with --project.`),
    )
  })

  test('is read-only', async () => {
    const { run, project, model } = await createWorld()
    // Nothing is read-only for root but what the system itself provides.
    const system = process.platform === 'darwin' ? '/System' : '/sys'
    const folder = process.getuid?.() === 0 ? system : project
    if (folder === project) chmodSync(project, 0o555)
    const { code, stdout, stderr } = await run(['run', 'Hi', '--json', '--project', folder])
    chmodSync(project, 0o755)

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    // The system's own folder refuses, or is mounted to be read only.
    expect(stderr).toMatch(/^chirality: (Not allowed to use|Cannot write to|\S+ is on a read-only disk)/)
    expect(stderr).toContain(`${folder}/.chirality`)
    expect(stderr).toMatch(/or choose another (folder|project)/)
    expect(asked(model)).toEqual([])
  })

  test('has a link where the log would go', async () => {
    const { run, project, home } = await createWorld()
    symlinkSync(home, path.join(project, '.chirality'))
    const { code, stdout, stderr } = await run(['run', 'Hi', '--json'])

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`${project}/.chirality is a symbolic link. Remove it`)
  })
})

describe('an agent that goes wrong', () => {
  test('prints garbage: started once more, then 1, said once, and kept in the raw log', async () => {
    const { run, spools } = await createWorld()
    const { code, stdout, stderr } = await run(['run', 'Hi'], {
      env: { CHIRALITY_CLAUDE_BIN: program('garbage.sh') },
    })
    expect(code).toBe(1)
    expect(stdout).toBe(
      '? The agent printed something that is not JSON; the raw log has it\n' +
        '✗ Claude Code exited with code 0 without a result.\n' +
        '· The agent ended before it answered. Nothing was spent, so the message is sent once more.\n' +
        '✗ Claude Code exited with code 0 without a result.\n',
    )
    expect(stderr).toMatch(/^chirality: The turn failed\. The raw log is in .*\/\.chirality\/logs\.\n$/)
    expect(readFileSync(spools()[0] ?? '', 'latin1')).toContain('Segmentation fault\n\u001b]0;owned')
  })

  test('prints garbage: every line is an envelope in --json', async () => {
    const { run } = await createWorld()
    const { code, stdout } = await run(['run', 'Hi', '--json'], {
      env: { CHIRALITY_CLAUDE_BIN: program('garbage.sh') },
    })
    expect(code).toBe(1)
    const events = jsonLines(stdout).map(({ event }) => event)
    expect(events.filter(event => event.type === 'native:unknown')).toHaveLength(10)
    expect(events.filter(event => event.type === 'session:error')).toMatchObject([
      { code: 'process_crashed', recovered: true },
      { code: 'process_crashed' },
    ])
  })

  test('exits early, before it has read the prompt: 1, with what it said on stderr', async () => {
    const { run } = await createWorld()
    const { code, stdout } = await run(['run'], {
      env: { CHIRALITY_CLAUDE_BIN: program('exits-early.sh') },
      input: 'x'.repeat(5 * 1024 * 1024),
    })
    expect(code).toBe(1)
    expect(stdout).toContain('✗ Claude Code exited with code 7 without a result.')
    expect(stdout).toContain('cannot open the settings file')
  })

  test('leaves children behind: they are stopped, and the user is told', async () => {
    const { run } = await createWorld()
    const { code, stdout } = await run(['run', 'Hi'], {
      env: { CHIRALITY_CLAUDE_BIN: program('leaves-children.mjs') },
    })
    expect(code).toBe(0)
    expect(stdout).toContain('Done.\n')
    expect(stdout).toContain('· Stopped 2 processes that the agent left behind.')
  })
})

// Only Linux has a device that is always full.
if (existsSync('/dev/full')) {
  test('stdout that cannot be written ends the agent, with 1', async () => {
    const { run } = await createWorld({ otherwise: { text: 'Never ends.', stallAfter: 1 } })
    const { code, stderr } = await run(['run', 'Hi'], { stdoutFile: '/dev/full' })
    expect(code).toBe(1)
    expect(stderr).toContain('chirality: stdout cannot be written (ENOSPC: no space left on device, write).')
  })
}

describe('arguments of the agent', () => {
  test('every option becomes a flag or a variable, and the prompt goes through stdin', async () => {
    const { run, home, project } = await createWorld()
    const args = ['--model', 'opus', '--permission-mode', 'plan', '--max-turns', '7', '--tools', 'Bash,Read']
    const allow = [
      '--allow',
      'Read, Bash(git log, git diff) ,mcp__x__y',
      '--mode',
      'direct',
      '--harness',
      'claude-code',
    ]
    const { code } = await run(['run', 'Hi', ...args, ...allow], {
      env: { CHIRALITY_CLAUDE_BIN: program('records-invocation.mjs'), UNRELATED_SECRET: 'x' },
    })
    expect(code).toBe(0)
    const invocation = JSON.parse(readFileSync(path.join(home, 'invocation.json'), 'utf8'))
    expect(invocation).toMatchObject({ cwd: project, stdin: 'Hi' })
    expect(invocation.env).not.toHaveProperty('UNRELATED_SECRET')
    const flags: string[] = invocation.args
    const after = (flag: string) => flags[flags.indexOf(flag) + 1]
    expect(after('--model')).toBe('opus')
    expect(after('--permission-mode')).toBe('plan')
    expect(after('--max-turns')).toBe('7')
    expect(after('--tools')).toBe('Bash,Read')
    const start = flags.indexOf('--allowedTools')
    expect(flags.slice(start + 1, start + 4)).toEqual(['Read', 'Bash(git log, git diff)', 'mcp__x__y'])
  })

  test('5 MB of prompt arrive whole', async () => {
    const { run, home } = await createWorld()
    const input = 'ä€😀\n'.repeat(512 * 1024)
    const { code } = await run(['run', '-'], {
      env: { CHIRALITY_CLAUDE_BIN: program('records-invocation.mjs') },
      input,
    })
    expect(code).toBe(0)
    const { stdin } = JSON.parse(readFileSync(path.join(home, 'invocation.json'), 'utf8'))
    expect(stdin === input).toBe(true)
  })

  test('as root, --permission-mode bypassPermissions is refused with the way out', async () => {
    const { run } = await createWorld()
    const { code, stdout, stderr } = await run(
      ['run', 'Hi', '--permission-mode', 'bypassPermissions', '--json'],
      {
        env: { CHIRALITY_CLAUDE_BIN: claudeBinary() },
      },
    )
    if (process.getuid?.() === 0) {
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toContain('set IS_SANDBOX=1 inside a container')
    } else expect(code).toBe(0)
  })
})

test('an agent that is known and not installed is named with how to get it', async () => {
  const world = await createWorld()
  const { code, stderr } = await world.run(['run', '--harness', 'acp-gemini', 'Hi'])
  expect(code).toBe(3)
  expect(stderr).toContain(
    'Gemini CLI is known, and PATH has no gemini. Install it: `npm install -g @google/gemini-cli`.',
  )
})
