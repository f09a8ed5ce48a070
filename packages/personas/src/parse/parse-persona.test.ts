import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parsePersona } from './parse-persona.ts'

const file = (...frontmatter: string[]) => ['---', ...frontmatter, '---', '# Work', ''].join('\n')
const settings = (...frontmatter: string[]) => {
  const parsed = parsePersona(file(...frontmatter))
  expect(parsed.problems).toEqual([])
  return parsed.settings
}
/** `line: message` of each problem. */
const problems = (text: string) =>
  parsePersona(text).problems.map(({ line, message }) => `${line}: ${message}`)

test('every key', () => {
  const text = file(
    'tools: "Read,Grep,Glob,Bash"           # what exists',
    'disallowed_tools: ["Write","Edit"]',
    'auto_approve_tools: ["Bash(git *)","Read"]',
    'max_turns: 10',
    'description: Breaks work into pieces',
    'harness: claude-code',
    'next_harnesses: codex, messages-api',
    'model: sonnet[1m]',
    'permission_mode: acceptEdits',
    'budget_usd: 2.50',
    'policy:',
    '  - deny Bash(rm *)',
    '  - ask mcp__files__*',
  )
  expect(parsePersona(text)).toEqual({
    settings: {
      allowedTools: ['Read', 'Grep', 'Glob', 'Bash'],
      disallowedTools: ['Write', 'Edit'],
      autoApproveTools: ['Bash(git *)', 'Read'],
      maxTurns: 10,
      description: 'Breaks work into pieces',
      harness: 'claude-code',
      nextHarnesses: ['codex', 'messages-api'],
      model: 'sonnet[1m]',
      permissionMode: 'acceptEdits',
      budgetUsd: 2.5,
      policy: [
        { effect: 'deny', tool: 'Bash', pattern: 'rm *', line: 13, text: 'deny Bash(rm *)' },
        { effect: 'ask', tool: 'mcp__files__*', line: 14, text: 'ask mcp__files__*' },
      ],
    },
    problems: [],
    warnings: [],
  })
})

describe('lists', () => {
  test.each([
    ['a YAML list', ['tools:', '  - Read', '  - Bash(git log, git diff)']],
    ['a flow list', ['tools: [Read, "Bash(git log, git diff)"]']],
    ['a comma string', ['tools: Read, Bash(git log, git diff)']],
    ['a quoted comma string', ['tools: "Read,Bash(git log, git diff),Read"']],
    ['a folded text', ['tools: >', '  Read,', '  Bash(git log, git diff)']],
    ['a list with commas inside an item', ['tools: ["Read, Bash(git log, git diff)"]']],
  ])('%s', (_form, frontmatter) => {
    expect(settings(...frontmatter).allowedTools).toEqual(['Read', 'Bash(git log, git diff)'])
  })

  test.each(['tools: []', 'tools: ""'])('%s: no tools at all', line => {
    expect(settings(line)).toEqual({ allowedTools: [] })
  })

  test('tools: default is the same as no line', () => {
    expect(settings('tools: default')).toEqual({})
    expect(problems(file('tools: default, Read'))).toEqual([expect.stringMatching(/^2: .*stand alone/)])
  })
})

describe('policy', () => {
  test.each([
    [['policy:', '  - deny Bash', '  - denny Write'], /^4: policy: .*not "denny". Did you mean "deny"/],
    [['policy: [deny Bash, allow Read]'], /^2: policy: "allow Read" is not for a persona/],
    [['policy: ["deny Bash(rm *) # no"]'], /^2: policy: .*after its end/],
    [['policy: {deny: Bash}'], /^2: policy must be a list/],
    [['policy:', '  - 3'], /^3: policy has the number 3/],
  ])('%j is refused', (frontmatter, problem) => {
    expect(problems(file(...frontmatter))).toEqual([expect.stringMatching(problem)])
  })
})

describe('frontmatter', () => {
  test('is optional', () => {
    expect(parsePersona('# Work\n\ntext\n')).toEqual({ settings: {}, problems: [], warnings: [] })
  })

  test.each([
    ['empty', '---\n---\nx'],
    ['only comments', '---\n# nothing yet\n---\nx'],
  ])('may be %s', (_what, text) => {
    expect(parsePersona(text)).toEqual({ settings: {}, problems: [], warnings: [] })
  })

  test.each([
    ['\\n', '\n'],
    ['\\r\\n', '\r\n'],
    ['\\r', '\r'],
  ])('may have %s line breaks', (_name, lineBreak) => {
    const lines = ['--- ', 'tools: [Read]', 'max_turns: 3', '---\t', 'Work.']
    expect(parsePersona(lines.join(lineBreak)).settings).toEqual({ allowedTools: ['Read'], maxTurns: 3 })
    const wrong = ['---', 'tools: [Read]', '', 'max_turns: no', '---', 'Work.']
    expect(problems(wrong.join(lineBreak))).toEqual([expect.stringMatching(/^4: max_turns/)])
  })

  test.each([
    ['\n---\ntools: [Read]\n---\n', 2],
    ['\n \n\n---\n---\nx', 4],
    [' ---\ntools: [Read]\n---\nx', 1],
    ['\uFEFF---\ntools: [Read]\n---\nx', 1],
  ])('that does not begin the file is not passed over: %j', (text, line) => {
    expect(problems(text)).toEqual([expect.stringContaining(`${line}: frontmatter must begin on line 1`)])
  })

  test.each([
    '---',
    '---\ntools: [Read]\n# Work\n',
    '---\ntools: [Read]\n ---\nx',
    '---\r\ntools: [Read]\r\n',
  ])('that is not closed: %j', text => {
    expect(problems(text)).toEqual([expect.stringMatching(/^1: .*not closed/)])
  })

  test('has a limit of its own', () => {
    expect(problems(file(`description: ${'x'.repeat(5000)}`))).toEqual([
      expect.stringMatching(/^1: .*longer/),
    ])
  })

  test('without instructions below it is a warning', () => {
    expect(parsePersona('---\ntools: [Read]\n---\n \n').warnings).toEqual([
      { message: 'there are no instructions below the frontmatter.' },
    ])
  })

  test.each(['', ' \n\t\n', '\uFEFF'])('an empty file is a problem: %j', text => {
    expect(parsePersona(text).problems).toEqual([{ message: expect.stringContaining('is empty') }])
  })
})

describe('bad YAML has the line of the file', () => {
  test.each<[string, string[], number, string]>([
    ['a list without its end', ['max_turns: 3', 'tools: [Read', 'model: opus'], 4, 'not valid YAML'],
    ['a tab', ['tools:', '\t- Read'], 3, 'Tabs are not allowed'],
    ['bad indentation', ['tools:', '    - Read', '  - Grep'], 4, 'not valid YAML'],
    ['an open quote', ['max_turns: 3', 'description: "x'], 3, 'not valid YAML'],
    ['a key twice', ['tools: Read', 'max_turns: 3', 'tools: Bash'], 4, 'a second time'],
    ['text', ['just words'], 2, 'must be "key: value" lines'],
    ['a list', ['# tools', '- Read'], 3, 'must be "key: value" lines'],
    ['a second document', ['tools: Read', '...', 'disallowed_tools: Bash'], 4, '"..."'],
    ['a tag', ['max_turns: 3', 'tools: !!js/function "x"'], 3, 'Unresolved tag'],
    ['a known tag', ['tools: !!binary UmVhZA=='], 2, 'Unresolved tag'],
    ['a key that is a list', ['? [a, b]', ': 1'], 2, 'not valid YAML'],
    ['no value', ['max_turns: 3', 'tools:'], 3, 'not nothing'],
    ['null', ['max_turns: ~'], 2, 'not nothing'],
  ])('%s', (_what, frontmatter, line, message) => {
    const found = parsePersona(file(...frontmatter)).problems
    expect(found[0]).toEqual({ line, message: expect.stringContaining(message) })
  })
})

describe('a wrong value has its line', () => {
  test.each<[string[], number, string]>([
    [['tools: 5'], 2, 'tools must be a list, or names separated by commas, not the number 5.'],
    [['tools: true'], 2, 'not true.'],
    [['tools: { Read: true }'], 2, 'not a map.'],
    [['max_turns: 3', 'tools:', '  - Read', '  - 7'], 5, 'tools has the number 7 in its list'],
    [['tools:', '  - Read', '  - [Grep]'], 4, 'tools has a list in its list'],
    [['tools:', '  - Read', '  -'], 4, 'tools has nothing in its list'],
    [['disallowed_tools:', '  - Write', '  - bash'], 4, '"bash" is written "Bash"'],
    [['disallowed_tools: Write Edit'], 2, 'Separate tools by commas'],
    [['tools: [Bash(git a, b)]'], 2, 'unequal parentheses'],
    [['auto_approve_tools: ["*"]'], 2, '"*" stands for every tool'],
    [['max_turns: "10"'], 2, 'max_turns must be a whole number above 0, not a quoted text.'],
    [['max_turns: ten'], 2, 'max_turns must be a whole number'],
    [['max_turns: 0'], 2, 'max_turns is 0'],
    [['max_turns: -3'], 2, 'max_turns is -3'],
    [['max_turns: 2.5'], 2, 'max_turns is 2.5'],
    [['max_turns: 1e300'], 2, 'max_turns is 1e+300'],
    [['budget_usd: 0'], 2, 'budget_usd is 0'],
    [['budget_usd: .inf'], 2, 'budget_usd is Infinity'],
    [['budget_usd: .nan'], 2, 'budget_usd is NaN'],
    [['budget_usd: $5'], 2, 'budget_usd must be a number above 0'],
    [['model: 5'], 2, 'model must be a text, not the number 5.'],
    [['model: --settings=x'], 2, 'not a valid name'],
    [['model: ""'], 2, 'model is empty'],
    [['harness: Claude Code'], 2, 'not a valid name'],
    [['next_harnesses: codex, Claude Code'], 2, 'not a valid name'],
    [['description: [a]'], 2, 'description must be a text, not a list.'],
    [['description: "\\e[2J"'], 2, 'control characters'],
    [['permission_mode: acceptedits'], 2, 'Did you mean "acceptEdits"?'],
    [['permission_mode: yolo'], 2, 'use default, acceptEdits, dontAsk, plan.'],
    [['description: &a Read', 'tools: *a'], 3, 'not an alias.'],
    [['description: &a Read', 'tools: [*a]'], 3, 'tools has an alias in its list'],
  ])('%j', (frontmatter, line, message) => {
    expect(parsePersona(file(...frontmatter)).problems[0]).toEqual({
      line,
      message: expect.stringContaining(message),
    })
  })

  test('all of them are told at once, in order', () => {
    expect(problems(file('max_turns: x', 'tools: [1, 2]', 'modell: y')).map(text => text[0])).toEqual([
      '2',
      '3',
      '3',
      '4',
    ])
  })
})

test('a file cannot take all checks away', () => {
  expect(problems(file('max_turns: 3', 'permission_mode: bypassPermissions'))).toEqual([
    expect.stringMatching(/^3: permission_mode may not be bypassPermissions: a file in a project cannot/),
  ])
})

describe('unknown keys', () => {
  test.each([
    ['tool', 'Did you mean "tools"?'],
    ['disallowedTools', 'Did you mean "disallowed_tools"?'],
    ['Max-Turns', 'Did you mean "max_turns"?'],
    ['color', 'The keys are tools, disallowed_tools, auto_approve_tools, max_turns'],
    ['__proto__', 'The keys are'],
    ['constructor', 'The keys are'],
    ['<<', 'The keys are'],
    ['hooks', 'The keys are'],
    // The nearest by spelling is its opposite.
    ['allowedTools', 'Use tools for what exists, auto_approve_tools for what runs without asking.'],
    ['allowed_tools', 'Use tools for what exists'],
  ])('%s', (key, hint) => {
    const [problem] = parsePersona(file('max_turns: 3', `${key}: { a: 1 }`)).problems
    expect(problem).toEqual({ line: 3, message: expect.stringContaining(hint) })
  })
})

describe('what is allowed but worth a word', () => {
  test.each(['Bash', 'Bash(*)', 'Bash(:*)'])('auto-approving %s', tool => {
    expect(parsePersona(file(`auto_approve_tools: ["${tool}"]`)).warnings).toEqual([
      { line: 2, message: expect.stringContaining('every shell command runs without asking') },
    ])
  })

  test('a pattern where only whole tools count', () => {
    expect(parsePersona(file('tools: Read, Bash(git *)')).warnings).toEqual([
      { line: 2, message: expect.stringContaining('Write Bash here, and Bash(git *) in auto_approve_tools') },
    ])
  })
})

describe('hostile frontmatter', () => {
  test.each<[string, string[]]>([
    ['brackets in brackets', [`tools: ${'['.repeat(4000)}`]],
    ['maps in maps', [`tools: ${'{a: '.repeat(1000)}`]],
    ['lists in lists', ['- '.repeat(2000)]],
    ['keys in keys', ['? '.repeat(2000)]],
  ])('%s are not even parsed', (_what, frontmatter) => {
    expect(problems(file(...frontmatter))).toEqual([expect.stringMatching(/^1: .*nested too deeply/)])
  })

  test.each<[string, string[]]>([
    ['keys below keys', Array.from({ length: 85 }, (_, depth) => `${' '.repeat(depth)}k:`)],
    ['anchors by the hundred', Array.from({ length: 300 }, (_, i) => `&a${i} k${i}: 1`)],
    ['an alias that stands for itself', ['tools: &a [*a]']],
    ['aliases by the thousand', ['x: &a 1', `tools: [${'*a,'.repeat(1300)}]`]],
    [
      'aliases that double',
      [
        'a: &a [x, x]',
        ...letters('b', 'z').map(([was, is]) => `${is}: &${is} [*${was}, *${was}]`),
        'tools: *z',
      ],
    ],
  ])('%s', (_what, frontmatter) => {
    const found = parsePersona(file(...frontmatter)).problems
    expect(found.length).toBeGreaterThan(0)
    expect(found.length).toBeLessThanOrEqual(20)
  })

  test('any text gives settings or problems, never an exception', () => {
    const line = fc.oneof(
      fc.string(),
      fc.constantFrom(
        '---',
        '...',
        'tools:',
        '- Read',
        'tools: [Read]',
        'max_turns: 3',
        '&a',
        '*a',
        '? x',
        '%YAML 1.1',
      ),
    )
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), lines => {
        const { problems, warnings } = parsePersona(['---', ...lines, '---', 'x'].join('\n'))
        for (const { line } of [...problems, ...warnings]) expect(line ?? 1).toBeGreaterThan(0)
      }),
      { numRuns: 500 },
    )
  })
})

/** Pairs of neighbours: [a, b], [b, c] … */
function letters(from: string, to: string): [string, string][] {
  const pairs: [string, string][] = []
  for (let code = from.charCodeAt(0); code <= to.charCodeAt(0); code++)
    pairs.push([String.fromCharCode(code - 1), String.fromCharCode(code)])
  return pairs
}
