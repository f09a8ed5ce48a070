// `npm run conformance:matrix [NAME@VERSION …]`: runs `chirality conformance` with published releases of the agents. They are
// installed once, in a cache outside of the repository: CHIRALITY_CACHE, or ~/.cache/chirality. The results are in
// docs/conformance.json; docs/conformance.md and the releases that count as tested are made from it. A release that has a result
// is not tried again, but with `--fresh`.
// `npm run conformance:newest` tries the newest published releases, writes nothing, and fails if one lacks what the one before had.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { CACHE, install, PUBLISHED } from './published-agents.mjs'
import { root, say, setup } from './setup.mjs'

const NATIVE = `${process.platform}-${process.arch}`
const PAGE = path.join(root, 'docs', 'conformance.md')
const RESULTS = path.join(root, 'docs', 'conformance.json')
const TESTED = path.join(root, 'packages', 'runner', 'src', 'tested-releases.generated.ts')

/** Spread over the last year: what is refused, the oldest that is not, and the newest. */
const AGENTS = {
  'claude-code': {
    package: '@anthropic-ai/claude-code',
    versions:
      '2.0.77 2.1.9 2.1.16 2.1.50 2.1.86 2.1.112 2.1.150 2.1.197 2.1.220 2.1.268 2.1.310 2.1.325 2.1.326',
    // A program for the platform from 2.1.113 on; before that a script.
    program: modules =>
      first(
        `${modules}/@anthropic-ai/claude-code-${NATIVE}/claude`,
        `${modules}/@anthropic-ai/claude-code/cli.js`,
      ),
    args: program => ['claude-code', '--program', program],
  },
  codex: {
    package: '@openai/codex',
    versions: '0.80.0 0.122.0 0.128.0 0.140.0 0.150.0 0.160.0 0.166.0 0.169.0',
    program: modules => codexIn(modules),
    args: program => ['codex', '--program', program],
  },
  opencode: published('opencode', ['acp']),
  copilot: published('copilot', ['--acp']),
  // The newest that runs on Node 20.
  qwen: published('qwen', ['--acp']),
  gemini: acp('@google/gemini-cli', '0.61.0', ['--acp'], modules => `${modules}/.bin/gemini`),
  'claude-agent-acp': acp(
    '@agentclientprotocol/claude-agent-acp',
    '0.49.0',
    [],
    modules => `${modules}/.bin/claude-agent-acp`,
  ),
  'codex-acp': acp('@agentclientprotocol/codex-acp', '2.6.0', [], modules => `${modules}/.bin/codex-acp`),
}

function acp(name, versions, args, program) {
  return { package: name, versions, program, args: file => ['--', file, ...args] }
}

function published(name, args) {
  const { package: spec, version, program } = PUBLISHED[name]
  return acp(spec, version, args, modules => path.join(modules, program.replace('{platform}', NATIVE)))
}

const INTRODUCTION = `# Conformance

\`chirality conformance [HARNESS | -- COMMAND…]\` runs an agent through scripted conversations with a model on this machine, and says
what this version does: no account, no token, nothing of yours is read or changed. The agent has a HOME, a project and a key of its own;
they are removed afterwards, and every process is ended, also by Ctrl-C. Without a name it tries every agent that is installed.

\`\`\`sh
chirality conformance codex
chirality conformance codex --program ./node_modules/.bin/codex --json
chirality conformance acp-opencode --program ~/bin/opencode    # a known agent that PATH does not find
chirality conformance -- my-agent --acp
\`\`\`

It exits with 0 if everything is supported or not offered, with 1 if something differs or is missing, with 3 if nothing could be tried.
The result of an installed agent is kept in \`conformance/\` of the data folder, and shown in Settings → Agents, where it can be run, too;
\`chirality doctor\` says when the installed version was never tried.

A run takes some ten seconds for Claude Code and Codex, and up to two minutes for agents that start slowly; a turn has at most 45 s
(\`--limit\`). What is looked at, and how: [packages/conformance](../packages/conformance/README.md).

## Releases

Made by \`npm run conformance:matrix\`, which installs published releases into a cache outside of the repository and runs the same set on
each. The results are in [conformance.json](conformance.json): a release that passed counts as tested, as does one that passed on your own
machine, and nobody is told that it is not. Do not edit: run it again.
`

await setup()
const asked = process.argv.slice(2)
const fresh = asked.includes('--fresh')
const wanted = asked.filter(word => !word.startsWith('--'))
const all = Object.entries(AGENTS).flatMap(([name, { versions }]) =>
  versions.split(' ').map(version => `${name}@${version}`),
)
const results = new Map(
  (existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')) : []).map(one => [one.entry, one]),
)
if (asked.includes('--newest')) process.exitCode = await tryNewest()
else {
  for (const entry of wanted.length > 0 ? wanted : all)
    if (fresh || !results.has(entry)) {
      results.set(entry, await conform(entry))
      await write()
    }
  await write()
  say(`Wrote ${path.relative(root, PAGE)}`)
}

/** 1 if a newest release does not do what the newest of the matrix does. */
async function tryNewest() {
  const worse = []
  for (const [name, { package: spec }] of Object.entries(AGENTS)) {
    const { stdout } = await promisify(execFile)('npm', ['view', spec, 'version'])
    const entry = `${name}@${stdout.trim()}`
    const before = [...results.values()].filter(one => one.entry.startsWith(`${name}@`)).at(-1)
    const { refused, findings } = await conform(entry)
    if (refused !== undefined) worse.push(`${entry} is refused: ${refused}`)
    for (const { behaviour, outcome, evidence } of findings) {
      const had = before?.findings.find(finding => finding.behaviour === behaviour)?.outcome
      if (had === 'supported' && outcome !== 'supported')
        worse.push(`${entry} ${behaviour} ${outcome}: ${evidence}`)
    }
  }
  for (const line of worse) say(line)
  return worse.length === 0 ? 0 : 1
}

async function write() {
  const shown = [...results.values()].toSorted((a, b) => placeOf(a.entry) - placeOf(b.entry))
  writeFileSync(RESULTS, `${JSON.stringify(shown, null, 2)}\n`)
  writeFileSync(PAGE, page(shown))
  const green = ['claude-code', 'codex'].map(name => {
    const passed = shown.filter(one => one.entry.startsWith(`${name}@`) && isGreen(one))
    return `  ${JSON.stringify(name)}: ${JSON.stringify(passed.map(({ entry }) => entry.split('@')[1]))},\n`
  })
  writeFileSync(
    TESTED,
    `// Made by \`npm run conformance:matrix\` from docs/conformance.json. Do not edit.
export const MATRIX_RELEASES: Readonly<Record<string, readonly string[]>> = {
${green.join('')}}
`,
  )
  await promisify(execFile)(
    process.execPath,
    [
      path.join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome'),
      'format',
      '--write',
      TESTED,
      RESULTS,
    ],
    { cwd: root },
  )
}

function isGreen({ refused, findings }) {
  return (
    refused === undefined &&
    findings.every(({ outcome }) => outcome === 'supported' || outcome === 'not-offered')
  )
}

/** In the order of this file; others behind. */
function placeOf(entry) {
  const place = all.indexOf(entry)
  return place < 0 ? all.length : place
}

async function conform(entry) {
  const [name, version] = entry.split('@')
  const agent = Object.hasOwn(AGENTS, name) ? AGENTS[name] : undefined
  if (!agent || !/^\d+\.\d+\.\d+$/.test(version ?? ''))
    throw new Error(`${entry}: name a version of ${Object.keys(AGENTS).join(', ')}, as in codex@0.166.0.`)
  const folder = await install(entry, `${agent.package}@${version}`)
  const program = agent.program(path.join(folder, 'node_modules'))
  say(`Trying ${entry}`)
  const home = path.join(CACHE, 'home')
  mkdirSync(home, { recursive: true })
  const [command, ...rest] = agent.args(program)
  const options =
    command === '--'
      ? ['--json', '--limit', '180', '--', ...rest]
      : [command, '--json', '--limit', '180', ...rest]
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [path.join(root, 'apps', 'cli', 'bin', 'chirality.mjs'), 'conformance', ...options],
    { env: { PATH: process.env.PATH, HOME: home, CHIRALITY_HOME: path.join(home, 'data') }, maxBuffer: 1e7 },
    // It exits with 1 when something differs: the report says what.
  ).catch(error => ({ stdout: error.stdout ?? '', error }))
  const [line] = stdout.trim().split('\n')
  if (!line) throw new Error(`${entry} gave no report.`)
  const { at, durationMs, refused, findings } = JSON.parse(line)
  return {
    ...{ entry, at, durationMs },
    ...(refused === undefined ? {} : { refused: withoutFolders(refused) }),
    findings: findings.map(({ behaviour, outcome, evidence }) => ({
      ...{ behaviour, outcome },
      evidence: withoutFolders(evidence),
    })),
  }
}

function first(...files) {
  return files.find(file => existsSync(file)) ?? files[0]
}

/** In `bin`; up to 0.130 in `codex`. */
function codexIn(modules) {
  // Older releases have the programs of every platform in one package.
  const vendor = first(`${modules}/@openai/codex-${NATIVE}/vendor`, `${modules}/@openai/codex/vendor`)
  const triples = existsSync(vendor) ? readdirSync(vendor) : []
  const arch = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
  const system = process.platform === 'darwin' ? 'darwin' : 'linux'
  const triple = triples.find(name => name.startsWith(arch) && name.includes(system)) ?? 'none'
  return first(`${vendor}/${triple}/bin/codex`, `${vendor}/${triple}/codex/codex`)
}

function page(results) {
  const behaviours = [
    ...new Set(results.flatMap(({ findings }) => findings.map(({ behaviour }) => behaviour))),
  ]
  const marks = { supported: '✓', differs: '~', missing: '✗', 'not-offered': '–' }
  const cell = (findings, id) => marks[findings.find(({ behaviour }) => behaviour === id)?.outcome] ?? ''
  const rows = results.map(({ entry, refused, findings, durationMs }) =>
    refused === undefined
      ? `| ${entry} | ${behaviours.map(id => cell(findings, id)).join(' | ')} | ${Math.round(durationMs / 1000)} s |`
      : `| ${entry} | refused${' |'.repeat(behaviours.length + 1)}`,
  )
  const notes = results.flatMap(({ entry, refused, findings }) => {
    if (refused !== undefined) return [`- **${entry}** is refused: ${safe(refused)}`]
    const others = findings.filter(({ outcome }) => outcome === 'differs' || outcome === 'missing')
    if (others.length === 0) return []
    const lines = others.map(
      ({ behaviour, outcome, evidence }) => `  - \`${behaviour}\` ${outcome}: ${safe(evidence)}`,
    )
    return [`- **${entry}**`, ...lines]
  })
  return `${INTRODUCTION}
${results.length} releases, ${
    results
      .map(({ at }) => at.slice(0, 10))
      .sort()
      .at(-1) ?? ''
  }, ${process.platform} ${process.arch}, Node ${process.versions.node}.

| agent | ${behaviours.join(' | ')} | took |
|---|${'---|'.repeat(behaviours.length + 1)}
${rows.join('\n')}

✓ supported · ~ differs · ✗ missing · – not offered. The times are those of this run, which may have shared the machine with other work.

## What differs

${notes.join('\n')}
`
}

function withoutFolders(text) {
  return text.replaceAll(CACHE, '…').replaceAll(os.homedir(), '~')
}

/** What an agent says is no Markdown. */
function safe(text) {
  return text.replace(/[<>|*_\\]/g, '\\$&')
}
