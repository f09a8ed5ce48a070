// `npm run test:versions [NAME@VERSION …]`: tests some behaviours with agent releases that `npm test` does not use.
// They are installed once, in .tools/versions.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { root, run, say, setup } from './setup.mjs'

/**
 * The oldest supported release, the last ones before a change of behaviour, one that keeps an old system prompt, and one
 * of the first whose failing hooks can block.
 */
const VERSIONS = [
  'claude-code@2.1.9',
  'claude-code@2.1.86',
  'claude-code@2.1.150',
  'claude-code@2.1.268',
  'claude-code@2.1.310',
  'claude-code@2.1.319',
  'claude-agent-sdk@0.3.150',
  'codex@0.122.0',
  'codex@0.128.0',
  'codex@0.150.0',
]
const SCOPES = { 'claude-code': '@anthropic-ai', 'claude-agent-sdk': '@anthropic-ai', codex: '@openai' }
const folder = path.join(root, '.tools', 'versions')

await setup()
const wanted = process.argv.length > 2 ? process.argv.slice(2) : VERSIONS
for (const entry of wanted) await install(entry)
// Only files with a matching test, because vitest fails a file without one.
const files = [
  ...new Set(wanted.map(entry => `test/versions/${entry.split('@')[0].replace('claude-agent', 'agent')}`)),
]
const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs')
process.exitCode = await run(process.execPath, [vitest, 'run', '-c', 'vitest.versions.config.ts', ...files], {
  cwd: path.join(root, 'packages', 'runner'),
  env: { CHIRALITY_VERSIONS: folder, CHIRALITY_WANTED: wanted.join(',') },
})

async function install(entry) {
  const [name, version] = entry.split('@')
  if (!Object.hasOwn(SCOPES, name) || !/^\d+\.\d+\.\d+$/.test(version ?? ''))
    throw new Error(
      `${entry}: name a version of ${Object.keys(SCOPES).join(', ')}, as in claude-code@2.1.86.`,
    )
  const target = path.join(folder, `${name}-${version}`)
  const marker = path.join(target, '.installed')
  if (existsSync(marker)) return
  say(`Installing ${entry}`)
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  writeFileSync(path.join(target, 'package.json'), '{"private":true}\n')
  const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', `${SCOPES[name]}/${entry}`]
  const code = await run('npm', args, { cwd: target, stdio: ['ignore', 'ignore', 'inherit'] })
  if (code !== 0) throw new Error(`${entry} could not be installed (npm ended with ${code}).`)
  writeFileSync(marker, '')
}
