import type { HarnessCapabilities } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import type { PersonaConfig } from './persona.ts'
import { personaTurnOpts } from './turn-opts.ts'

const CLAUDE: HarnessCapabilities = {
  supportsSystemPrompt: true,
  supportsAppendSystemPrompt: true,
  supportsReadOnly: true,
  supportsMcp: true,
  supportsResume: true,
  supportsFork: true,
  supportsForkAt: true,
  supportsClientTools: false,
  supportsStreamingTokens: true,
  supportsCostTracking: true,
  supportsNamedTools: true,
  supportsImages: true,
  supportsDecisions: false,
  supportsSteering: false,
  supportsPrewarm: false,
  supportsMaxTurns: true,
  supportsBudget: true,
}
const CODEX: HarnessCapabilities = { ...CLAUDE, supportsNamedTools: false, supportsCostTracking: false }
const persona = (fields: Partial<PersonaConfig> = {}): PersonaConfig => ({
  id: 'X',
  sourceFile: 'agents/AGENT_X.md',
  ...fields,
})

test('a harness that knows tools by name gets the whole scope', () => {
  const full = persona({
    allowedTools: ['Read', 'Grep', 'Bash'],
    disallowedTools: ['Write', 'Bash(rm *)'],
    autoApproveTools: ['Bash(git log, git diff)'],
    maxTurns: 10,
    model: 'opus',
    permissionMode: 'acceptEdits',
    budgetUsd: 2.5,
  })
  expect(personaTurnOpts(full, CLAUDE)).toEqual({
    opts: {
      tools: 'Read,Grep,Bash',
      disallowedTools: ['Write', 'Bash(rm *)'],
      autoApproveTools: ['Bash(git log, git diff)'],
      maxTurns: 10,
      model: 'opus',
      permissionMode: 'acceptEdits',
      maxBudgetUsd: 2.5,
    },
    warnings: [],
  })
})

test('a persona that limits nothing sets nothing', () => {
  for (const capabilities of [CLAUDE, CODEX]) {
    const { opts, warnings } = personaTurnOpts(persona(), capabilities)
    expect(Object.keys(opts)).toEqual([])
    expect(warnings).toEqual([])
  }
})

test('no tools is not the same as all tools', () => {
  expect(personaTurnOpts(persona({ allowedTools: [] }), CLAUDE).opts).toEqual({ tools: '' })
})

test('a pattern never opens more than it says', () => {
  const { opts, warnings } = personaTurnOpts(persona({ allowedTools: ['Read', 'Bash(a,Write,b)'] }), CLAUDE)
  expect(opts).toEqual({ tools: 'Read' })
  expect(warnings).toEqual([expect.stringMatching(/^X: .*Bash is not available through Bash\(a,Write,b\)/)])
})

test('the lists are copies', () => {
  const given = persona({ disallowedTools: ['Write'], autoApproveTools: ['Read'] })
  const { opts } = personaTurnOpts(given, CLAUDE)
  opts.disallowedTools?.push('Edit')
  opts.autoApproveTools?.push('Edit')
  expect(given).toMatchObject({ disallowedTools: ['Write'], autoApproveTools: ['Read'] })
})

describe('a harness that knows no tools by name', () => {
  test.each<[keyof PersonaConfig, Partial<PersonaConfig>, string]>([
    ['allowedTools', { allowedTools: ['Read', 'Bash'] }, 'tools cannot be enforced'],
    ['disallowedTools', { disallowedTools: ['Write', 'Edit'] }, 'cannot be denied Write, Edit'],
    ['autoApproveTools', { autoApproveTools: ['Bash(git *)'] }, 'auto_approve_tools has no effect'],
  ])('says that it cannot enforce %s, and is not given it', (_field, fields, message) => {
    expect(personaTurnOpts(persona(fields), CODEX)).toEqual({
      opts: {},
      warnings: [expect.stringContaining(message)],
    })
  })

  test.each<[string, Partial<PersonaConfig>]>([
    ['tools that only read', { allowedTools: ['Read', 'Grep'] }],
    ['no tools', { allowedTools: [] }],
    ['what could write is denied', { allowedTools: ['Read', 'Bash'], disallowedTools: ['Bash'] }],
    ['all that writes is denied', { disallowedTools: ['Bash', 'Edit', 'NotebookEdit', 'Write'] }],
    ['even where the mode would allow more', { allowedTools: ['Read'], permissionMode: 'acceptEdits' }],
  ])('runs read-only instead: %s', (_what, fields) => {
    const { opts, warnings } = personaTurnOpts(persona(fields), CODEX)
    expect(opts).toEqual({ permissionMode: 'plan' })
    expect(warnings.at(-1)).toContain('the turn runs read-only instead')
    expect(warnings.length).toBeGreaterThan(1)
  })

  test.each<[string, Partial<PersonaConfig>]>([
    ['a shell writes too', { allowedTools: ['Read', 'Bash'], disallowedTools: ['Write', 'Edit'] }],
    ['a denied pattern leaves the rest', { allowedTools: ['Bash'], disallowedTools: ['Bash(rm *)'] }],
    ['a tool it does not know may write', { allowedTools: ['Read', 'mcp__db__query'] }],
    ['some of what writes is left', { disallowedTools: ['Write', 'Edit'] }],
  ])('does not claim to be read-only: %s', (_what, fields) => {
    expect(personaTurnOpts(persona(fields), CODEX).opts).toEqual({})
  })

  test('and has no read-only mode either', () => {
    const { opts, warnings } = personaTurnOpts(persona({ allowedTools: ['Read'] }), {
      ...CODEX,
      supportsReadOnly: false,
    })
    expect(opts).toEqual({})
    expect(warnings).toEqual([expect.stringContaining('tools cannot be enforced')])
  })
})

test('a budget needs a harness that says what it costs', () => {
  expect(personaTurnOpts(persona({ budgetUsd: 1 }), CODEX)).toEqual({
    opts: {},
    warnings: [expect.stringContaining('budget_usd cannot be enforced')],
  })
})

test('instructions need a harness that takes them', () => {
  const { warnings } = personaTurnOpts(persona(), { ...CLAUDE, supportsAppendSystemPrompt: false })
  expect(warnings).toEqual([expect.stringContaining('the instructions do not reach it')])
})

describe('a model that was meant for another harness', () => {
  const meant = persona({ harness: 'claude-code', model: 'opus' })

  test('is left out, and that is said', () => {
    const { opts, warnings } = personaTurnOpts(meant, CODEX, 'codex')
    expect(opts).toEqual({})
    expect(warnings).toEqual([
      'X: It is meant for claude-code; this turn runs with codex, and its model opus is left out.',
    ])
  })

  test('is kept where it belongs, or when the harness is not known', () => {
    expect(personaTurnOpts(meant, CLAUDE, 'claude-code')).toEqual({ opts: { model: 'opus' }, warnings: [] })
    expect(personaTurnOpts(meant, CLAUDE)).toEqual({ opts: { model: 'opus' }, warnings: [] })
    expect(personaTurnOpts(persona({ model: 'opus' }), CLAUDE, 'codex').opts).toEqual({ model: 'opus' })
  })
})
