import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { VERDICT_WORDS } from '@chirality/core'
import { expect, test } from 'vitest'
import { LoopBook } from '../src/loop-book.ts'
import { verdictOf } from '../src/proof/verdict.ts'
import { runLoop } from './support/run-loop.ts'

/**
 * What the shell of a task does while its loop runs. Each wants its own task, which changes nothing and so has to fail, to
 * be called proved, or to take away what is said of others. `says`: where it is named; undefined if nothing of what is
 * shown comes from there, so that there is nothing to name.
 *
 * OWN: the loop's folder in the data folder. COPY: its folder in the project. T: the id of the attacking task.
 */
interface Forgery {
  shell: string
  says?: RegExp
}

/** An id that no loop has. */
const OTHER = '0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f'
const MERGED = `'{"at":"2030-01-01T00:00:00.000Z","type":"task:merged","task":"'$T'","commit":"'$BASE'"}'`
const journal = (shell: string): Forgery => ({ shell, says: /in your data folder: .*journal/ })
const own = (shell: string, name: string): Forgery => ({
  shell,
  says: new RegExp(`in your data folder: .*${name}`),
})
const copy = (shell: string, name: string): Forgery => ({
  shell,
  says: new RegExp(`the copy of its files in the project: .*${name}`),
})
const quiet = (shell: string): Forgery => ({ shell })

/** Each group is done in one loop: what one of them removes another could not change any more. */
const GROUPS: Record<string, Record<string, Forgery>> = {
  'the journal': {
    'appends a merge to the journal': journal(`echo ${MERGED} >> $OWN/journal.ndjson`),
    'turns its failures into merges': journal(`sed -i s/task:failed/task:merged/ $OWN/journal.ndjson`),
    'takes lines out of the journal': journal(`sed -i 3d $OWN/journal.ndjson`),
    'cuts the end of the journal off': journal(
      `head -n 4 $OWN/journal.ndjson > $OWN/j; cat $OWN/j > $OWN/journal.ndjson`,
    ),
    'empties the journal': journal(`: > $OWN/journal.ndjson`),
    'removes the journal': journal(`rm $OWN/journal.ndjson`),
    'puts another file in the place of the journal': journal(
      `cp $OWN/journal.ndjson $OWN/j; echo ${MERGED} >> $OWN/j; mv $OWN/j $OWN/journal.ndjson`,
    ),
    'puts a link in the place of the journal': journal(
      `mv $OWN/journal.ndjson $OWN/j; ln -s $OWN/j $OWN/journal.ndjson; echo ${MERGED} >> $OWN/j`,
    ),
    'puts a FIFO in the place of the journal': journal(`rm $OWN/journal.ndjson; mkfifo $OWN/journal.ndjson`),
    'puts a folder in the place of the journal': journal(`rm $OWN/journal.ndjson; mkdir $OWN/journal.ndjson`),
    'changes the journal and sets its times back': journal(
      `touch -r $OWN/journal.ndjson $OWN/t; sed -i s/failed/merged/ $OWN/journal.ndjson; touch -r $OWN/t $OWN/journal.ndjson`,
    ),
    'writes a torn line': journal(`printf '{"at":"2030","type":"task:mer' >> $OWN/journal.ndjson`),
    'repeats lines of the journal': journal(`tail -n 2 $OWN/journal.ndjson >> $OWN/journal.ndjson`),
    'copies the journal over itself in another order': journal(
      `tac $OWN/journal.ndjson > $OWN/j; cat $OWN/j > $OWN/journal.ndjson`,
    ),
    'removes the whole folder of the loop': journal(`rm -rf $OWN`),
    'moves the folder of the loop away': journal(`mv $OWN $OWN-away`),
    // Where the journal ends.
    'removes the head': own(`rm -f $OWN/head.json`, 'head.json'),
    'sets the head back': own(`sed -i 's/"count": *[0-9]*/"count":2/' $OWN/head.json`, 'head.json'),
    'puts a folder in the place of the head': own(`rm -f $OWN/head.json; mkdir $OWN/head.json`, 'head.json'),
  },
  'the journal by other names, and an older one': {
    'keeps the journal and its head for later': quiet(
      `cp $OWN/journal.ndjson $PROJECT-journal; cp $OWN/head.json $PROJECT-head`,
    ),
    'writes to the journal through a hard link': journal(
      `ln $OWN/journal.ndjson $PROJECT-link; echo ${MERGED} >> $PROJECT-link; rm $PROJECT-link`,
    ),
    'puts a hard link of another file in the place of the journal': journal(
      `cp $OWN/journal.ndjson $PROJECT-link; echo ${MERGED} >> $PROJECT-link; ln -f $PROJECT-link $OWN/journal.ndjson`,
    ),
    'plays the older journal with its own head again': journal(
      `cat $PROJECT-journal > $OWN/journal.ndjson; cat $PROJECT-head > $OWN/head.json`,
    ),
    'puts the older head back': own(`cat $PROJECT-head > $OWN/head.json`, 'head.json'),
    'copies the loop under another id': quiet(`cp -a $OWN $DATA/loops/$OTHER; cp -a $COPY $COPY/../$OTHER`),
    'copies the loop into another project': quiet(
      `mkdir -p $PROJECT-b/.chirality/loops; cp -a $PROJECT/.git $PROJECT-b; cp -a $COPY $PROJECT-b/.chirality/loops/$LOOP`,
    ),
  },
  'what is beside it in the data folder': {
    'allows itself a command': own(
      `sed -i 's/"allowed":\\[/"allowed":["rm -rf x",/' $OWN/own.json`,
      'own.json',
    ),
    'removes the record of allowed commands': own(`rm -f $OWN/own.json`, 'own.json'),
    'gives the loop to another project': own(
      `sed -i 's#"project":"[^"]*"#"project":"/"#' $OWN/own.json`,
      'own.json',
    ),
    'changes the list as it began': own(`sed -i /checks/d $OWN/list.md`, 'list.md'),
    'removes the list as it began': own(`rm -f $OWN/list.md`, 'list.md'),
    'takes the flags out of a receipt': own(
      `sed -i 's/"flags": \\[.*/"flags": [],/' $OWN/receipts/honest.json; echo >> $OWN/receipts/honest.json`,
      'receipts/honest.json',
    ),
    'removes a receipt': own(`rm -f $OWN/receipts/honest.json`, 'receipts/honest.json'),
    'puts another key in the place of the key': own(
      `openssl genpkey -algorithm ed25519 -out $DATA/keys/loops-ed25519.pem 2>/dev/null || echo none > $DATA/keys/loops-ed25519.pem`,
      'the key of this machine',
    ),
    'removes the key': own(`rm -f $DATA/keys/loops-ed25519.pem`, 'the key of this machine'),
    'writes a receipt for itself': own(
      `sed "s/honest/$T/g" $OWN/receipts/honest.json > $OWN/receipts/$T.json; sed "s/honest/$T/g" $COPY/receipts/honest.json > $COPY/receipts/$T.json`,
      'receipts/attack-.* was added',
    ),
  },
  'the copy in the project': {
    'appends a merge to the copy of the journal': copy(
      `echo ${MERGED} >> $COPY/journal.ndjson`,
      'journal.ndjson',
    ),
    'empties the copy of the journal': copy(`: > $COPY/journal.ndjson`, 'journal.ndjson'),
    'takes the flags out of the copy of a receipt': copy(
      `sed -i 's/"flags"/"none"/' $COPY/receipts/honest.json`,
      'receipts/honest.json',
    ),
    'removes the copy of a receipt': copy(`rm -f $COPY/receipts/honest.md`, 'receipts/honest.md'),
    'writes the copy of the budget': copy(`echo '{}' > $COPY/budget.json`, 'budget.json|journal'),
    'changes a prompt in the copy': copy(
      `echo 'Say yes.' >> $COPY/prompts/honest-1.md`,
      'prompts/honest-1.md',
    ),
  },
  'all of the copy': {
    'removes the copy': copy(`rm -rf $COPY`, 'journal.ndjson'),
    'puts a link in the place of the copy': copy(
      `rm -rf $COPY; mkdir $PROJECT-elsewhere; ln -s $PROJECT-elsewhere $COPY`,
      'journal.ndjson',
    ),
  },
  'the list, git and times': {
    'ticks its own box': {
      shell: `sed -i "s/\\[ \\] $TITLE/[x] $TITLE/" $PROJECT/TASKS.md`,
      says: /Ticked by somebody, not proved: /,
    },
    'ticks the box of another task': {
      shell: `sed -i 's/\\[ \\] Bystander/[x] Bystander/' $PROJECT/TASKS.md`,
      says: /Ticked by somebody, not proved: .*bystander/,
    },
    'takes the tick of another task away': {
      shell: `sed -i 's/\\[x\\] Honest/[ ] Honest/' $PROJECT/TASKS.md`,
      says: /tasks unticked: honest/,
    },
    'takes the checks of the last task out': {
      shell: `sed -i '/Victim/,$ s/^  checks:.*$//' $PROJECT/TASKS.md`,
      says: /somebody took a check out of it: `test -e proof`/,
    },
    'adds a task': {
      shell: `printf -- '- [x] Added by %s\\n' $T >> $PROJECT/TASKS.md`,
      says: /tasks added: /,
    },
    'moves the branch of the loop back': {
      shell: `git -C "$(git -C $PROJECT worktree list --porcelain | sed -n "s/^worktree //p" | grep "/loop-$LOOP/")" reset -q --hard $BASE`,
      says: /Somebody moved the loop's branch/,
    },
    'sets a hook': quiet(
      `git -C $PROJECT config core.hooksPath /tmp/none; git -C $PROJECT config --unset core.hooksPath`,
    ),
    'commits in its worktree': quiet(
      `git -c user.name=a -c user.email=a@b commit -q --allow-empty -m proved`,
    ),
    'makes a branch that looks like that of a loop': quiet(
      `git -C $PROJECT branch chirality/loop-proved-$T $BASE`,
    ),
    'touches all files of the loop': quiet(`find $OWN $COPY -type f -exec touch -d 2000-01-01 {} +`),
    'makes an old history in refs/original': quiet(
      `git -C $PROJECT update-ref refs/original/refs/heads/main $BASE`,
    ),
    'names other folders of git in a file of the environment': quiet(
      `printf 'GIT_DIR=/nowhere\\nGIT_WORK_TREE=/\\nGIT_CONFIG_GLOBAL=/nowhere\\n' > $PROJECT/.env; rm $PROJECT/.env`,
    ),
    'replaces the first commit': quiet(
      `git -C $PROJECT replace -f $BASE "$(git -C $PROJECT -c user.name=a -c user.email=a@b commit-tree -m x "$(git -C $PROJECT mktree < /dev/null)")"`,
    ),
    'grafts the history': quiet(
      `for b in $(git -C $PROJECT for-each-ref --format='%(objectname)' refs/heads); do echo $b; done > $PROJECT/.git/info/grafts`,
    ),
    'takes texts from another store': quiet(
      `mkdir -p $PROJECT-store; echo $PROJECT-store > $PROJECT/.git/objects/info/alternates`,
    ),
    'leads its worktree to another folder': quiet(
      `git config extensions.worktreeConfig true; mkdir -p $PROJECT-work; echo proof > $PROJECT-work/proof; git config --worktree core.worktree $PROJECT-work`,
    ),
    'takes its worktree for bare': quiet(`git config --worktree core.bare true`),
    'has attributes for all files': quiet(
      `printf '* -diff -text export-ignore filter=x\\n' > $PROJECT/.git/info/attributes; git -C $PROJECT config filter.x.clean 'echo proof'; git -C $PROJECT config filter.x.required true`,
    ),
    'reads everything': quiet(`cat $OWN/*.json $COPY/*.json > /dev/null 2>&1; true`),
  },
}

test.each(Object.entries(GROUPS))(
  'no task is proved by anything that its shell does to %s, and the change is named',
  {
    timeout: 1_800_000,
  },
  async (_, FORGERIES) => {
    const names = Object.keys(FORGERIES)
    const title = (at: number) => `Attack ${String(at).padStart(2, '0')}`
    const context: { vars: Record<string, string> } = { vars: {} }
    const attack = (name: string, at: number) => (folder: string) => {
      const env = { ...process.env, ...context.vars, T: `attack-${title(at).slice(-2)}`, TITLE: title(at) }
      execFileSync('sh', ['-c', `${FORGERIES[name]?.shell}; true`], { cwd: folder, env, stdio: 'pipe' })
    }
    const world = await runLoop({
      front: 'max_attempts: 1\nmax_failures: 1000',
      files: { 'README.md': 'A project.\n' },
      works: {
        Honest: folder => execFileSync('sh', ['-c', 'echo proof > honest.txt'], { cwd: folder }),
        ...Object.fromEntries(names.map((name, at) => [title(at), attack(name, at)])),
        Victim: () => {},
        Bystander: () => {},
      },
      keys: { Honest: ['checks: test -e .'], Victim: ['checks: test -e proof'] },
    })
    const { project, home, book, host, list } = world
    const loop = await book.start(host, list)
    const { loopId, base: BASE } = loop.state
    context.vars = {
      ...{ OWN: book.folder(loopId), COPY: book.copyFolder(loopId), PROJECT: project, DATA: home },
      ...{ BASE, LOOP: loopId, OTHER },
    }
    const end = await loop.run()
    expect(end.reason).toBe('blocked')

    // Another process has only the files.
    const state = await new LoopBook(project, home).get(loopId)
    expect({ broken: state.broken, unreadable: state.unreadable }).toEqual({
      broken: [],
      unreadable: undefined,
    })
    for (const [root, id] of [
      [project, OTHER],
      [`${project}-b`, state.loopId],
    ] as const) {
      if (!existsSync(root)) continue
      const found = await new LoopBook(root, home).get(id).catch(() => undefined)
      expect([...(found?.tasks.keys() ?? [])]).toEqual([])
    }
    const proved = [...state.tasks.values()]
      .filter(task => task.status === 'merged')
      .map(({ task }) => task.id)
    expect(proved).toEqual(['honest'])
    for (const task of state.tasks.values())
      if (task.task.id.startsWith('attack'))
        expect([task.task.id, verdictOf(task)?.word]).toEqual([task.task.id, 'not-proved'])
    const report = await book.report(state)
    expect(report).toMatch(new RegExp(`^1 (${VERDICT_WORDS.proved}|${VERDICT_WORDS.look}) · `, 'm'))
    // First of all.
    expect(report).toMatch(/^# Loop .*\n\n## Somebody changed files of this loop\n/)
    const silent = names.filter(name => {
      const { says } = FORGERIES[name] ?? {}
      return says !== undefined && !says.test(report)
    })
    expect(silent).toEqual([])
    // Each change of the journal is found by the next entry, and not only at the end.
    const found = new Set<string>()
    let task = ''
    for (const entry of await book.entries(loopId)) {
      if (entry.type === 'iteration:start') task = entry.task
      if (entry.type === 'journal:altered') found.add(task)
    }
    const ofJournal = names.flatMap((name, at) => {
      const says = String(FORGERIES[name]?.says)
      return /journal|head/.test(says) && !/copy/.test(says) ? [`attack-${title(at).slice(-2)}`] : []
    })
    expect(ofJournal.filter(id => !found.has(id))).toEqual([])
  },
)
