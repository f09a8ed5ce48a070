import { describe, expect, test } from 'vitest'
import { oneOf, readOptions, wholeNumber } from './options.ts'

const SPECS = {
  name: { type: 'string' },
  list: { type: 'string', mayBeEmpty: true },
  'long-name': { type: 'string' },
  json: { type: 'boolean' },
} as const

describe('readOptions', () => {
  test.each([
    [[], {}, []],
    [['--name', 'x', 'word', '--json'], { name: 'x', json: true }, ['word']],
    [['--name=x=y'], { name: 'x=y' }, []],
    [['--name=--x'], { name: '--x' }, []],
    [['--name', '-'], { name: '-' }, []],
    [['--list', ''], { list: '' }, []],
    [['--list='], { list: '' }, []],
    [['-', 'x'], {}, ['-', 'x']],
    [['--json', '--', '--name', '-x'], { json: true }, ['--name', '-x']],
  ])('reads %j', (args, values, positionals) => {
    expect(readOptions(args, SPECS)).toEqual({ values, positionals })
  })

  test.each([
    [['--nmae', 'x'], 'Unknown option --nmae. Did you mean --name?'],
    [['--longname', 'x'], 'Unknown option --longname. Did you mean --long-name?'],
    [['--no-json'], 'Unknown option --no-json. Did you mean --json?'],
    [['-abc'], 'Unknown option -a. An argument that begins with a dash goes after "--".'],
    [['--toString'], 'Unknown option --toString. An argument that begins with a dash goes after "--".'],
    [['--__proto__=x'], 'Unknown option --__proto__. An argument that begins with a dash goes after "--".'],
    [['--name'], '--name needs a value.'],
    [['--name', '--json'], '--name needs a value. If it begins with a dash, write --name=--json.'],
    [['--name='], '--name is empty. Leave it out or give a value.'],
    [['--name', 'a', '--name', 'b'], '--name is given twice.'],
    [['--json', '--json'], '--json is given twice.'],
    [['--json=1'], '--json takes no value.'],
  ])('refuses %j', (args, message) => {
    expect(() => readOptions(args, SPECS)).toThrow(message)
  })
})

describe('oneOf', () => {
  test('gives what is allowed, or nothing for nothing', () => {
    expect(oneOf('kind', 'b', ['a', 'b'])).toBe('b')
    expect(oneOf('kind', undefined, ['a', 'b'])).toBeUndefined()
  })

  test.each([
    ['x', ['long', 'short'], '--kind must be one of long, short, not "x".'],
    ['lnog', ['long', 'short'], '--kind must be one of long, short, not "lnog". Did you mean long?'],
    ['x', ['only'], '--kind must be only, not "x".'],
  ])('refuses %s of %j', (given, allowed, message) => {
    expect(() => oneOf('kind', given, allowed)).toThrow(message)
  })
})

describe('wholeNumber', () => {
  const range = { min: 1, max: 10 }

  test.each([
    ['1', 1],
    ['10', 10],
    ['007', 7],
    [undefined, undefined],
  ])('takes %s', (given, value) => {
    expect(wholeNumber('n', given, range)).toBe(value)
  })

  test.each(['0', '11', '-1', '1.5', '1e1', '0x1', ' 1', 'NaN', '99999999999999999999'])(
    'refuses %j',
    given => {
      expect(() => wholeNumber('n', given, range)).toThrow(
        `--n must be a whole number from 1 to 10, not "${given}".`,
      )
    },
  )
})
