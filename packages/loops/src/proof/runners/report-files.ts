// Small programs that runners load, so that each writes its own report beside what it prints. They are written into the
// folder of the reports for one run: the runner that loads them is the project's, not ours.

/**
 * Loaded into every Node process of the check. In the program of a runner it adds the option for a report to its
 * arguments, whatever script, `npx` or shell started it. What the runner starts itself does not get it: a test that runs
 * a runner would be counted as part of the suite.
 */
export const PRELOAD = String.raw`'use strict'
const { isMainThread } = require('node:worker_threads')
const fs = require('node:fs')
const path = require('node:path')

const RUNNERS = {
  vitest: /\/(\.bin\/vitest|vitest\/vitest\.mjs)$/,
  jest: /\/(\.bin\/jest|jest\/bin\/jest\.js|jest-cli\/bin\/jest\.js)$/,
  ava: /\/(\.bin\/ava|ava\/entrypoints\/cli\.mjs|ava\/cli\.js)$/,
  mocha: /\/(\.bin\/_?mocha|mocha\/bin\/_?mocha(\.js)?)$/,
  playwright: /\/(\.bin\/playwright|playwright\/cli\.js|@playwright\/test\/cli\.js)$/,
  uvu: /\/(\.bin\/uvu|uvu\/bin\.js)$/,
  tap: /\/(\.bin\/tape|tape\/bin\/tape)$/,
}
const PRINTS = ['uvu', 'tap']
const { exit: leave } = process

if (isMainThread) begin()

function begin() {
  const script = (process.argv[1] || '').replaceAll('\\', '/')
  const args = process.argv.slice(2)
  const name = process.execArgv.includes('--test')
    ? 'node:test'
    : Object.keys(RUNNERS).find(one => RUNNERS[one].test(script))
  if (name === undefined || !runsTests(name, args)) return
  const { NODE_OPTIONS = '' } = process.env
  process.env.NODE_OPTIONS = NODE_OPTIONS.replace(process.env.CHIRALITY_REPORT_OPTIONS || '\0', '').trim()
  if (process.env.NODE_OPTIONS === '') delete process.env.NODE_OPTIONS
  delete process.env.CHIRALITY_REPORT_OPTIONS
  const report = path.join(__dirname, name.replace(':', '-') + '-' + process.pid + '.report')
  fs.writeFileSync(path.join(__dirname, process.pid + '.started'), JSON.stringify({ runner: name, report }))
  if (PRINTS.includes(name)) return void noteEnd(report)
  if (name !== 'node:test') process.argv.splice(2, args.length, ...withReport(name, args, report))
}

/** They print their report only: what they test could print another one, and end the process before they do. */
function noteEnd(report) {
  let isOwn = true
  process.exit = function (code) {
    const caller = (new Error().stack || '').split('\n')[2] || ''
    isOwn = /[\\/]node_modules[\\/]|\(?node:/.test(caller)
    return leave.call(process, code)
  }
  process.once('exit', () => isOwn && fs.writeFileSync(report, '{"type":"end"}\n'))
}

function runsTests(name, args) {
  const asked = word => args.includes(word)
  if (asked('--help') || asked('-h') || asked('--version') || asked('-v') || asked('--listTests')) return false
  if (name === 'playwright') return args[0] === 'test' && !asked('--list')
  if (name === 'vitest') return !['list', 'init', 'bench'].includes(args[0])
  return true
}

function withReport(name, args, report) {
  const has = pattern => args.some(word => pattern.test(word))
  if (name === 'vitest')
    return [...(has(/^--reporter\b/) ? [] : ['--reporter=default']), '--reporter=json', '--outputFile.json=' + report, ...args]
  if (name === 'jest') return has(/^--(json|outputFile)\b/) ? args : ['--json', '--outputFile=' + report, ...args]
  if (name === 'ava') return has(/^(--tap|-t)$/) ? args : ['--tap', ...args]
  if (name === 'mocha') {
    process.env.CHIRALITY_MOCHA_REPORT = report
    return ['--reporter', path.join(__dirname, 'mocha-reporter.cjs'), ...without(args, /^(--reporter|-R)$/, /^(--reporter|-R)=/)]
  }
  process.env.PLAYWRIGHT_JSON_OUTPUT_FILE = report
  process.env.PLAYWRIGHT_JSON_OUTPUT_NAME = report
  const own = args.findLast((word, at) => /^--reporter=/.test(word) || args[at - 1] === '--reporter')
  const names = own === undefined ? 'list' : own.replace('--reporter=', '')
  return ['test', '--reporter=' + names + ',json', ...without(args.slice(1), /^--reporter$/, /^--reporter=/)]
}

function without(args, withValue, whole) {
  return args.filter((word, at) => !withValue.test(word) && !whole.test(word) && !withValue.test(args[at - 1] || ''))
}
`

/** Mocha has one reporter: this one prints as its own does, and writes each test down when it is over. */
export const MOCHA_REPORTER = String.raw`'use strict'
const fs = require('node:fs')
const path = require('node:path')
const { createRequire } = require('node:module')

module.exports = class {
  constructor(runner, options) {
    const file = process.env.CHIRALITY_MOCHA_REPORT
    const write = (type, test) =>
      fs.appendFileSync(file, JSON.stringify({ type, name: test && test.fullTitle(), file: test && test.file }) + '\n')
    runner.on('pass', test => write('pass', test))
    runner.on('fail', test => write('fail', test))
    runner.on('pending', test => write('pending', test))
    runner.once('end', () => write('end'))
    const Spec = ownReporter()
    if (Spec) new Spec(runner, options)
  }
}

function ownReporter() {
  for (const from of [fs.realpathSync(process.argv[1]), path.join(process.cwd(), 'package.json')])
    try {
      const found = createRequire(from)('mocha')
      return (found.default || found).reporters.Spec
    } catch {}
}
`

/** Each process writes a file of its own: a check may run node:test more than once. */
export const NODE_REPORTER = String.raw`import { appendFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const file = fileURLToPath(new URL('node-test-' + process.pid + '.report', import.meta.url))
const write = line => appendFileSync(file, JSON.stringify(line) + '\n')
const isOn = value => value !== undefined && value !== false

export default async function* (source) {
  let any = false
  for await (const { type, data } of source) {
    if (type !== 'test:pass' && type !== 'test:fail') continue
    any = true
    write({
      type,
      name: data.name,
      file: data.file,
      todo: isOn(data.todo),
      skip: isOn(data.skip),
      expectFailure: isOn(data.expectFailure),
      suite: data.details?.type === 'suite',
    })
  }
  if (any || process.execArgv.includes('--test')) write({ type: 'end' })
}
`

/** A plugin of pytest: a file of its own for each process, but none for the workers of xdist. */
export const PYTEST_PLUGIN = `import json
import os

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    folder = os.path.dirname(os.path.abspath(__file__))
    report = os.path.join(folder, "pytest-%d.report" % os.getpid())
    if config.option.xmlpath:
        report = os.path.abspath(config.option.xmlpath)
    else:
        config.option.xmlpath = report
    with open(os.path.join(folder, "%d.started" % os.getpid()), "w") as file:
        json.dump({"runner": "pytest", "report": report}, file)
    os.environ["PYTEST_ADDOPTS"] = os.environ.get("PYTEST_ADDOPTS", "").replace("-p chirality_report -o junit_family=xunit1", "")
`
