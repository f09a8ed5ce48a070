import type { FlagKind } from './verdict.ts'

/** A way to make checks say more than is so, seen in a line that was added. */
export interface LineRule {
  kind: FlagKind
  /** `tests`: tests and what decides how they run. `work`: all other code. */
  in: 'tests' | 'work' | 'both'
  /** Applies to an existing file only: a new test may do it for a reason. */
  onlyChanged?: true
  pattern: RegExp
  words: string
}

export const LINE_RULES: readonly LineRule[] = [
  {
    kind: 'tests-skipped',
    in: 'tests',
    words: 'Skips tests, or runs only some of them.',
    pattern:
      /\b(it|test|describe|suite|context|specify|scenario)(\.\w+)*\.(skip|todo|only|skipIf|runIf|fixme)\b|\b[xf](it|describe|test|context)\s*\(|@(pytest\.mark\.|unittest\.)?skip|pytest\.skip\(|\bt\.Skip\w*\(|#\[ignore|@(Disabled|Ignore)\b|\b(this|t|ctx|context)\.skip\(|\bskip:\s*(true|['"])|\btodo:\s*(true|['"])|\bonly:\s*true|collect_ignore|pytest_ignore_collect|pytest_collection_modifyitems|SkipTest/,
  },
  {
    kind: 'tests-skipped',
    in: 'tests',
    words: 'Has tests that count when they fail.',
    pattern: /\.(failing|fails)\b|\.fail\(|xfail|expectedFailure|should_panic|\bexpected_failure\b/,
  },
  {
    kind: 'tests-weakened',
    in: 'tests',
    onlyChanged: true,
    words: 'Has tests that end early, or parts of them that never run.',
    pattern:
      /\bif\s*\(?\s*(false|0|False|!true)\s*\)?|\bwhile\s*\(\s*false|^\s*return;?\s*$|#\[cfg\((any\(\)|not\(test\))|#if (0|false)\b/,
  },
  {
    kind: 'tests-weakened',
    in: 'tests',
    words: 'Swallows what a test would have failed with.',
    pattern:
      /catch\s*(\([^)]*\))?\s*\{\s*\}|\.catch\(\s*\(?\w*\)?\s*=>\s*(\{\s*\}|undefined|null|void 0)|\.catch\(\s*function\s*\w*\s*\(\w*\)\s*\{\s*\}|except[^:]*:\s*pass\b|\brescue\b|_ = recover\(\)|contextlib\.suppress|\|\|\s*true\b|\bor True\b/,
  },
  {
    kind: 'tests-weakened',
    in: 'tests',
    onlyChanged: true,
    words: 'Has assertions that hold for any code.',
    pattern:
      /\bt\.pass\(|expect\((true|1)\)|expect\(\s*(\w+)\s*\)\.\w+\(\s*\2\s*\)|assert(\.ok|\.equal|\.strictEqual)?\(\s*(true|1)\b|assert\.ok\(\s*['"]|\bassert True\b|assertTrue\(\s*(true|True)|\bassert!\(\s*true|t\.is\(\s*(\w+)\s*,\s*\6\s*[,)]|expect\.anything\(|toBeDefined\(\)|toBeTruthy\(\)|\.not\.toThrow\(\)/,
  },
  {
    kind: 'tests-weakened',
    in: 'tests',
    words: 'Mocks code of the project itself.',
    pattern:
      /\b(vi|jest)\.(mock|doMock|unstable_mockModule)\(\s*['"`][.~@#/]|\bmock\.module\(|\b(proxyquire|esmock|rewire|quibble)\b|\btd\.replace|mock\.patch|mocker\.patch|@patch\(/,
  },
  {
    kind: 'tests-weakened',
    in: 'tests',
    words: 'Changes a time limit, or how often a test is tried.',
    pattern:
      /\b(retry|retries|retryTimes|reruns|flaky|testTimeout|hookTimeout|setTimeout\(\s*\d{5,}|jest\.setTimeout|timeout)\b\s*[:=(]|this\.(timeout|retries)\(|--(retries|retry|timeout|reruns)\b/i,
  },
  {
    kind: 'checks-changed',
    in: 'tests',
    words: 'Makes a command count as passed whatever it says.',
    pattern:
      /\|\|\s*(true|:|exit 0|echo)(?=\W|$)|;\s*(true|exit 0)\b|\bset \+e\b|passWithNoTests|--no-fail|--allow-empty|continue-on-error|--bail\s*=?\s*0|--exit-zero|fail-fast:\s*false|--if-present|dangerouslyIgnoreUnhandledErrors/,
  },
  {
    kind: 'tests-weakened',
    in: 'both',
    words: 'Ends the process, or sets what it ends with.',
    pattern:
      /process\.(exit\(\s*0?\s*\)|exitCode\s*=|reallyExit|abort\(|kill\(process\.pid)|\bos\._exit\(|sys\.exit\(\s*0?\s*\)|os\.Exit\(\s*0\s*\)|process::exit\(\s*0\s*\)|System\.exit\(\s*0\s*\)|\batexit\b|process\.(on|once)\(\s*['"](exit|beforeExit|uncaughtException|unhandledRejection)|sessionfinish|exitstatus\s*=/,
  },
  {
    kind: 'tests-weakened',
    in: 'both',
    words: 'Changes what assertions or the test runner do.',
    pattern:
      /\b(assert|expect|chai|should|t|it|test|describe)\.\w+\s*=(?!=|>)|(globalThis|global|window)(\.|\[['"])(assert|expect|it|test|describe|Date|Promise|Error|Object|JSON|setTimeout|process)\b['"\]]*\s*=(?!=)|Object\.(defineProperty|assign)\(\s*(globalThis|global|assert|expect|process)\b|(Array|Object|Error|String|Number|Function|Promise|Map|Set)\.prototype\.\w+\s*=(?!=)|require\.cache|Module\._(load|resolveFilename)|registerHooks\(|module\.register\(|__eq__\s*=|builtins\.\w+\s*=|sys\.modules\[|setattr\(\s*(builtins|unittest|pytest)|pytest_runtest_makereport|pytest_assertrepr|pytest_pyfunc_call|Symbol\.toPrimitive|expect\.extend\(|currentTest\.\w+\s*=(?!=)|\b(?:Runnable|Runner|Suite|Test)\.prototype\b|addEqualityTesters/,
  },
  {
    kind: 'test-aware',
    in: 'work',
    words: 'Has code that asks whether it is being tested.',
    pattern:
      /NODE_ENV|\bVITEST\w*|JEST_WORKER_ID|PYTEST_\w+|NODE_TEST_CONTEXT|AVA_PATH|npm_(lifecycle|package|command|config)|CHIRALITY_|\bUVU_\w+|\bMOCHA_\w+|\b__(?:vitest|jest|mocha|coverage|playwright)\w*|(env|environ|getenv|Getenv|env::var)\W{1,4}CI\b|['"]CI['"]|import\.meta\.(vitest|env\.TEST)|typeof (describe|it|test|expect|jest|vi|suite|before|afterEach)\b|globalThis\.(describe|it|test|expect|jest|vi)\b|['"](pytest|unittest)['"] in sys\.modules|cfg!\(\s*(?:not\(\s*)?(?:test|debug_assertions)|#\[cfg\(\s*(?:not\(\s*(?:test|debug_assertions)|debug_assertions)|thread::current\(\)|env::(?:current_exe|args(?:_os)?\(\)\.(?:any|next|nth\(0))|option_env!|getStackTrace\(\)|\bStackWalker\b|Class\.forName\(\s*"org\.(?:junit|testng)|getProperty\(\s*"(?:surefire|sun\.java\.command|java\.class\.path)|testing\.Testing\(\)|\bprocess\.(argv|execArgv|mainModule|title)\b.*(test|spec|jest|vitest|mocha|ava)|new Error\([^)]*\)\.stack|prepareStackTrace|sys\._getframe|inspect\.(stack|currentframe)|extract_stack|runtime\.Caller|argv\[0\].*test|flag\.Lookup\(\s*['"]test/,
  },
]
