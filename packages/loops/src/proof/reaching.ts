import { codeTextOf } from './code-text.ts'

/**
 * Parts of code that can notice that it is tested, or can change what a test says, each with its words. Ordinary code
 * has hardly any of it, so what is new is named whatever it is for: a name made up of pieces cannot be judged.
 */
export interface Reach {
  /** Notices that it is tested. */
  aware: string[]
  /** Gets hold of the process, the globals or the modules as a whole, or of parts that end it or change them. */
  reaches: string[]
}

export function reachOf(file: string, text: string): Reach {
  if (!SCRIPT.test(file) && !PYTHON.test(file)) return { aware: [], reaches: [] }
  const { code, texts } = codeTextOf(file, text)
  if (PYTHON.test(file))
    return {
      aware: [
        ...matches(PYTHON_AWARE, code),
        ...namedRunners(texts),
        ...texts.filter(said => OWN_FOLDERS.test(said) || OF_THE_SYSTEM.test(said)),
      ],
      reaches: matches(PYTHON_REACHES, code),
    }
  const plain = withOwnImports(code)
  return {
    aware: [
      ...AWARE.flatMap(pattern => matches(pattern, plain)),
      ...matches(SCRIPT_ARGUMENT, plain).filter(line => !/import\.meta|__filename|fileURLToPath/.test(line)),
      ...(/\bnew Worker\b|\bfork\s*\(/.test(code) ? [] : matches(WORKER, plain)),
      ...namedRunners(texts),
      ...texts.filter(said => OWN_FOLDERS.test(said) || OF_THE_SYSTEM.test(said)),
      ...namedParts(plain),
      ...(READS.test(code) ? texts.filter(said => OF_THE_MACHINE.test(said)) : []),
      ...(READS.test(code) && !WRITES.test(code) ? matches(/\btmpdir\s*\(\s*\)/g, code) : []),
      ...(READS.test(code) ? texts.filter(said => TEST_PATHS.test(said)) : []),
    ],
    reaches: [
      ...REACHES.flatMap(pattern => matches(pattern, plain)),
      ...wholeProcess(plain),
      ...texts.filter(said => CODE_AS_TEXT.test(said)),
    ],
  }
}

/** The names that files give to what they import are ordinary, also where that is the process. */
function withOwnImports(code: string): string {
  return code
    .replace(/\bimport\s+(?:\*\s*as\s+)?process\b(?=\s*(?:,|from))/g, 'import _')
    .replace(/\b(?:const|let|var)\s+process\s*=\s*(?:await\s+)?(?:require|import)\s*\(\s*(?:''|"")\s*\)/g, '')
}

/** `process` as a value, and parts of it that only something that wants to end or to fool a test needs. */
function wholeProcess(code: string): string[] {
  const isOwn = /\b(?:function|class|const|let|var)\s+process\b/.test(code)
  return [
    ...code.matchAll(/(?<![\w$#]|(?<!\bglobalThis|\bglobal|\bwindow)\s*\??\.\s*)process\b(?!\s*\()/g),
  ].flatMap(found => {
    const before = code.slice(Math.max(0, found.index - 200), found.index)
    const after = code.slice(found.index + found[0].length, found.index + found[0].length + 80)
    const member = /^\s*\??\.\s*(\w+)/.exec(after)?.[1]
    if (member !== undefined) return RISKY.has(member) ? [`process.${member}`] : []
    const names = /\{([^{}]*)\}\s*=\s*$/.exec(before)?.[1]
    if (names !== undefined)
      return names.split(',').some(name => RISKY_ALONE.has(name.split(':')[0]?.trim() ?? ''))
        ? [`${names} of process`]
        : []
    const isTyped = /\btypeof\s+$/.test(before) || /^\s*:/.test(after)
    const isParameter =
      /^[^()\n]*\)\s*(?:=>|\{|:)/.test(after) || /^\s*=>/.test(after) || /^\s+(?:of|in)\b/.test(after)
    return isOwn || isTyped || isParameter || /['"]\s*in\s+$/.test(before)
      ? []
      : [`process${after.slice(0, 20)}`]
  })
}

const RISKY = new Set(
  [
    'reallyExit _kill abort binding _linkedBinding getBuiltinModule mainModule moduleLoadList execArgv argv0 title ppid',
    'addListener prependListener prependOnceListener emit removeAllListeners listeners rawListeners eventNames _events',
    'setUncaughtExceptionCaptureCallback constructor __proto__ report config connected channel domain _getActiveHandles',
  ].flatMap(words => words.split(' ')),
)
const RISKY_ALONE = new Set([...RISKY, ...'exit on once off kill send exitCode nextTick'.split(' ')])

const BUILTIN =
  '(?:Object|Reflect|JSON|Number|Array|Error|Promise|Symbol|String|Math|Map|Set|RegExp|Date|Function|Boolean|console|globalThis|global|process)'

const REACHES: readonly RegExp[] = [
  /** All globals at once, or one by a name that is made up. */
  /(?<![.\w$])(?:globalThis|global)\s*\??\.?\s*\[\s*(?!(?:''|"")\s*\])[^\]\n]*/g,
  /(?:[(,]|(?<![=!]=)(?<![\w}]\s)=)\s*(?:globalThis|global)\s*[;,)\n]/g,
  /(?<![.\w$])(?:globalThis|global|window)\s*\??\.\s*constructor\b/g,
  /** Code that is made of text. */
  /(?<![.\w$])eval\b(?!\s*:)|(?<![.\w$])Function\s*\(|\.constructor\s*\.\s*constructor\b|(?<!new\s+[\w.]{0,60})\.constructor\s*\(\s*['"`]|\brunIn(?:This|New)?Context\b/g,
  /** Prototypes of builtins and of imported things, handed to something that can change them. */
  new RegExp(String.raw`(?<!\bcreate\s*|\bisPrototypeOf\s*)[(,]\s*${BUILTIN}\.prototype\s*[,)]`, 'g'),
  new RegExp(String.raw`(?<![}=!]\s*)=\s*${BUILTIN}\.prototype\s*(?:[;,)]|$)`, 'gm'),
  new RegExp(
    String.raw`\b(?:Object\.(?:assign|define\w+|setPrototypeOf)|Reflect\.(?:set|define\w+|delete\w+|setPrototypeOf))\(\s*${BUILTIN}\b(?!\s*\()`,
    'g',
  ),
  /\b(?:const|let|var)\s+\w+\s*=\s*(?:Object|Reflect|JSON|Array|Error|Promise|Math|Function|console)\s*(?:[;,]|$)/gm,
  /\.__proto__\b|\b__define[GS]etter__\b/g,
  /** Modules that are loaded otherwise than by a name in the file. */
  /(?<![.\w$])(?:require|import)\s*\(\s*(?!(?:''|"")\s*[,)])[^\n]{0,40}/g,
  /\bmodule\s*\.\s*(?:require|constructor|children|paths)\b|(?<!!\s*)\bmodule\s*\.\s*parent\b|(?<![.\w$])require\s*\.\s*(?:call|apply|bind|extensions|cache)\b|(?:(?<![=!]=)=|[(,])\s*require\s*[;,)\n]|\bModule\s*\.\s*(?:_\w+|prototype|wrap)\b/g,
  /\bcreateRequire\s*\(\s*(?!import\.meta\.(?:url|filename)\s*\)|__filename\s*\))[^)\n]*/g,
  /\b(?!require\b)\w+\s*=\s*createRequire\s*\([^)\n]*\)\s*(?!\()/g,
]

const AWARE: readonly RegExp[] = [
  /** The program that started or loaded the module. */
  /\brequire\s*\.\s*main\b(?!\s*(?:===?|!==?)\s*module\b)(?<!module\s*(?:===?|!==?)\s*require\s*\.\s*main)[^\n]{0,40}/g,
  /\bprocess\s*\.\s*argv\s*\.\s*(?:some|every|find\w*|filter|join|at|map)\b|\$\{\s*process\s*\.\s*argv|String\(\s*process\s*\.\s*argv/g,
  /\[\s*(?:\w+|,\s*\w+)[^\]\n=]*\]\s*=\s*process\s*\.\s*argv\s*(?:[;\n]|$)/g,
  /** All of the environment, or one of it by a name that is made up. */
  /\bObject\s*\.\s*(?:keys|entries|values|getOwnPropertyNames)\(\s*(?:process\s*\.\s*)?env\b|\bstringify\(\s*(?:process\s*\.\s*)?env\b|\bin\s+process\s*\.\s*env\b|\b(?:process\s*\.\s*)?env\s*\[\s*(?!(?:''|"")\s*\]|[\w.$]+\s*\])[^\]\n]*/g,
  /** The caller, read from a stack. */
  /\.stack\b\s*\??\.\s*(?:includes|indexOf|lastIndexOf|match\w*|split|search|startsWith|endsWith|replace\w*)\b|\.(?:test|exec|includes|match)\([^()\n]*\.stack\b|(?<![.\w]stack\s*)=\s*(?:\(?\w+\)?|new Error\([^)]*\))\.stack\s*(?:[;,)\n}]|$)|\{\s*stack\b[^}\n]*\}\s*=|\bcaptureStackTrace\(\s*(?!this\b)|\bprepareStackTrace\b|\bstackTraceLimit\b|\.getFileName\(/g,
  /** The age of the process, or a day: a test is over soon. */
  /\bprocess\s*\.\s*(?:uptime|hrtime|cpuUsage|resourceUsage)\s*(?:\.\s*\w+\s*)?\(\s*\)\s*[<>]|\bperformance\s*\.\s*(?:now\s*\(\s*\)|timeOrigin)\s*[<>]=?\s*[\d_]+|(?:\bDate\s*\.\s*now\s*\(\s*\)|\bnew\s+Date\b(?:\(\))?)\s*(?:\.\s*\w+\s*\(\s*\)\s*)?[<>]=?\s*(?:[\d_]{9,}|new\s+Date\(\s*['"\d])/g,
  /\b(?:process\s*\.\s*)?env\s*\.\s*(?:PWD|OLDPWD|INIT_CWD|_)\b/g,
  /** The folder of the code: a checkout for checks lies elsewhere than the work of a person. */
  /\b(?:cwd\(\)|__dirname|__filename|import\.meta\.(?:url|dirname|filename))\s*\.\s*(?:includes|indexOf|match\w*|search|startsWith|endsWith|split)\b|\.test\(\s*(?:process\s*\.\s*cwd\(\)|__dirname|__filename|import\.meta)/g,
]
/** The environment, and a part of it by a name that is made elsewhere. */
function namedParts(code: string): string[] {
  return [...code.matchAll(ENVIRONMENTS)].flatMap(([, name = '']) =>
    matches(new RegExp(String.raw`(?<![.\w$])${name}\s*\[\s*(?!(?:''|"")\s*\])[^\]\n]*`, 'g'), code),
  )
}

const ENVIRONMENTS =
  /\b(?:const|let|var)\s+(\w+)\s*=\s*(?:\{\s*\.\.\.\s*)?(?:process\s*\.\s*)?env\b\s*(?:[,}]|;|$)/gm
/** The program that was started: a module asks whether it is that itself. */
const SCRIPT_ARGUMENT = /^.*\bargv\s*\[\s*[01]\s*\].*$/gm
/** A worker that is none of this file. */
const WORKER = /\b(?:isMainThread|threadId|isPrimary|isMaster|process\s*\.\s*send)\b(?!\s*\??\.?\()/g

/** Names of runners in a text of one word: in a sentence they are written for people. */
const RUNNER =
  /(?<![\w-])_?(?:ava|mocha|jest|vitest|uvu|tape|jasmine|playwright|pytest|unittest|supertest|chai|sinon|node:test|karma)(?![\w])/
const OWN_FOLDERS = /^[\\/]*(?:worktrees|judging)[\\/]*$|^[\\/]?\.?chirality(?:[-\\/]\S*)?$/
/** Files of the system about processes, and the folder of git, which installed packages do not have. */
const OF_THE_SYSTEM = /^\/proc\/(?:self|thread-self|\$|\d|$)|^(?:\.{0,2}\/)*\.git(?:\/HEAD)?$/
/** Places that only this machine has, if code looks whether they are there. */
const OF_THE_MACHINE = /^\/(?:tmp|var\/tmp|dev\/shm)(?:\/|$)/
const READS = /\b(?:fs|promises)\b|(?:exists|readFile|readdir|stat|access|glob)\w*\s*\(/
const WRITES = /(?:mkdtemp|writeFile|mkdir|createWriteStream|appendFile|copyFile|rename)\w*\s*\(/
const CODE_AS_TEXT = /^data:(?:text|application)\/(?:javascript|ecmascript|wasm)\b/
const TEST_PATHS = /^(?:\.{0,2}\/)*(?:tests?|__tests__|specs?|e2e)(?:\/|$)|\.(?:test|spec)\.[cm]?[jt]sx?$/

function namedRunners(texts: readonly string[]): string[] {
  return texts.filter(said => RUNNER.test(said) && !/\s\S+\s/.test(said))
}

const PYTHON_AWARE =
  /\bsys\.(?:argv\s*\[\s*0|orig_argv|modules|_getframe|_current_frames|gettrace|getprofile)\b|\binspect\.\w+|\btraceback\.(?:extract|walk|format_stack|print_stack)\w*|\b(?:dict|list|str|sorted|any)\(\s*os\.environ\b|\bin\s+os\.environ\b(?=\s*[:\]\n)])|\bos\.environ\s*\[\s*(?!(?:''|"")\s*\]|\w+\s*\])|\bos\.getppid\b|\bsys\.path\b(?!\s*\.\s*(?:insert|append|extend)\b)|\bsys\.(?:stdout|stderr|stdin)\s+is\b|\bsys\.__std(?:out|err|in)__|\bsys\.flags\b|\bgetLogger\(\s*\)\s*\.\s*handlers|\blogging\.root\.handlers|\*\*\s*os\.environ\b|\bos\.environ\.(?:keys|items|values|copy)\(|\bthreading\.(?:enumerate|current_thread)\b|\bgc\.get_\w+|\bpsutil\b|__main__\.__file__/g
const PYTHON_REACHES =
  /(?<![.\w])(?:eval|exec|compile|__import__)\s*\(|\bimportlib\b|\bimport_module\b|\b__builtins__\b|\bbuiltins\b|\bctypes\b|\bos\.(?:_exit|abort|kill|exec\w+)\b|\bsys\.(?:settrace|setprofile|excepthook|meta_path|path_hooks|stdout|stderr|exit)\s*=(?!=)|\bglobals\(\)|\batexit\b|\b__subclasses__\b|\bpatch\.(?:object|dict)\b/g

const SCRIPT = /\.(?:[cm]?[jt]sx?|vue|svelte)$/i
const PYTHON = /\.pyi?$/i

function matches(pattern: RegExp, code: string): string[] {
  return [...code.matchAll(pattern)].map(([found]) => found.trim().replace(/\s+/g, ' '))
}
