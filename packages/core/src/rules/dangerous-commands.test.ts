import { expect, test } from 'vitest'
import { commandRisks } from './command-risks.ts'

const place = {
  isOutside: (path: string) => /^[/~]|^\.\.|\$/.test(path),
  knownHosts: new Set(['git.example.org']),
}
const risks = (command: string) => commandRisks(command, place)

/** By what they do. Each has to be found behind whatever stands before it, too. */
const DANGEROUS = {
  history: `
git checkout -- .
git checkout HEAD -- .
git checkout .
git checkout -- src/app.ts
git checkout HEAD~2 -- src
git checkout main src/app.ts
git checkout src/app.ts
git checkout src/
git checkout -f
git checkout --force main
git checkout -B main origin/main
git checkout --orphan clean
git switch --discard-changes main
git switch -f main
git switch -C main
git switch --orphan x
git restore .
git restore src/app.ts
git restore --source=HEAD~1 .
git restore --staged --worktree .
git restore -SW .
git reset --hard
git reset --hard HEAD~3
git reset --merge ORIG_HEAD
git reset --keep HEAD~1
git stash drop
git stash drop stash@{0}
git stash clear
git branch -D feature
git branch -d -f feature
git branch --delete --force feature
git branch -M main
git branch -f main HEAD~3
git tag -d v1
git tag --delete v1
git worktree remove --force ../wt
git worktree remove -f ../wt
git reflog expire --expire=now --all
git reflog delete HEAD@{1}
git gc --prune=now
git gc --aggressive --prune=now
git prune
git filter-branch --tree-filter x HEAD
git filter-repo --path x
git update-ref -d refs/heads/main
git push --force
git push -f origin main
git push --force-with-lease
git push origin --delete main
git push origin :main
git push origin +main
git push --mirror
git push -d origin x
git submodule deinit -f lib
git checkout-index -f -a
git read-tree -u --reset HEAD
git -C sub checkout -- .
git -c core.pager=cat reset --hard
git --git-dir=.git --work-tree=. checkout .
GIT_DIR=.git git restore .
cd sub && git checkout .
(cd sub; git reset --hard)
sh -c "git checkout -- ."
/bin/bash -lc 'git restore .'
git status && git stash clear
env FOO=1 git branch -D x
if true; then git reset --hard; fi
git-filter-repo --path x`,
  delete: `
git rm -rf .
git rm -r src
git rm -rf . --quiet
git clean -fd
git clean -xdf
git clean -f -d
git clean --force
git -c clean.requireForce=false clean -d
rm -rf dist
rm -r dist
rm -Rf dist
rm --recursive dist
rm -f *
find . -name x -delete
find . -type f -exec rm {} +
find . -name '*.bak' | xargs rm
git ls-files | xargs -n 1 rm -f
truncate -s 0 data.db
truncate --size=0 data.db
dd if=/dev/zero of=data.img bs=1M
shred -u secrets.txt
mv data /dev/null
rsync -a --delete src/ dst/
rsync -av --delete-after src/ dst/
python3 -c "import shutil; shutil.rmtree('data')"
python -c 'import shutil as s; s.rmtree("data")'
node -e "require('fs').rmSync('data', { recursive: true })"
node -e "fs.rm('x',{recursive:true,force:true},()=>{})"
ruby -e "require 'fileutils'; FileUtils.rm_rf('data')"
python3 - <<EOF
import shutil
shutil.rmtree("data")
EOF
crontab -r
cp /dev/null data.db`,
  remote: `
terraform destroy
terraform destroy -auto-approve
terraform -chdir=infra destroy
terraform apply -destroy
terraform state rm aws_instance.a
tofu destroy
terragrunt run-all destroy
pulumi destroy --yes
cdk destroy
kubectl delete ns prod
kubectl -n prod delete pod a
oc delete project x
kubectl drain node-1
helm uninstall api
aws s3 rm s3://bucket --recursive
aws s3 rb s3://bucket --force
aws ec2 terminate-instances --instance-ids i-1
aws rds delete-db-instance --db-instance-identifier x
aws --profile prod dynamodb delete-table --table-name x
gcloud projects delete x
gcloud compute instances delete vm --quiet
az group delete -n rg
gh repo delete owner/name --yes
gh release delete v1
gh secret delete TOKEN
gh api -X DELETE repos/o/r
heroku apps:destroy x
vercel remove app
fly destroy app
fly apps destroy app
gsutil rm -r gs://bucket`,
  data: `
docker volume rm data
docker volume prune -f
podman volume rm data
docker system prune -a --volumes
docker compose down -v
docker-compose down --volumes
docker compose -f x.yml down -v
psql -c "DROP TABLE users"
psql -c "SELECT 1; DROP TABLE users"
psql "$DATABASE_URL" -c 'TRUNCATE users'
psql -c "DELETE FROM users"
mysql -e "DROP DATABASE shop"
mysql shop -e "DELETE FROM orders;"
sqlite3 app.db "DROP TABLE users;"
sqlite3 app.db 'delete from users'
echo "DROP TABLE users" | psql
docker exec db psql -U a -c "DROP SCHEMA public CASCADE"
psql <<SQL
DROP TABLE users;
SQL
mongosh --eval "db.dropDatabase()"
mongosh shop --eval 'db.users.deleteMany({})'
redis-cli FLUSHALL
redis-cli -h prod flushdb
dropdb shop
prisma migrate reset
npx prisma migrate reset --force
npx prisma db push --force-reset
rails db:drop
bin/rails db:reset
bundle exec rake db:drop
php artisan migrate:fresh
python manage.py flush
supabase db reset`,
  publish: `
npm publish
npm publish --access public
pnpm -r publish
yarn publish
yarn npm publish
npm unpublish a@1.0.0
cargo publish
twine upload dist/*
gem push a.gem
docker push example/a
docker buildx build --push .
poetry publish
uv publish`,
  rights: `
chmod -R 777 .
chown -R me:me .
chmod --recursive u+w x`,
  root: `
kill -9 -1
sudo git reset --hard`,
  disk: `
mkfs.ext4 /dev/sdb1
dd if=x of=/dev/sda
wipefs -a /dev/sdb`,
}

const HONEST = `
git checkout main
git checkout feature/x
git checkout -b new
git checkout -b new origin/main
git checkout --track origin/x
git checkout v1.2.3
git checkout -
git checkout --detach
git switch main
git switch -c new
git restore --staged a
git restore --staged .
git restore -S src/app.ts
git stash
git stash push -m "before rm -rf"
git stash pop
git stash list
git branch -d x
git branch
git branch -vv
git branch -m new
git tag -a v1 -m "drop table support"
git worktree add ../wt
git worktree remove ../wt
git worktree list
git reflog
git gc
git rm a.txt
git rm --cached -r node_modules
git rm -r --dry-run src
git clean -n
git clean -nfd
git clean --dry-run -fd
git reset
git reset HEAD a.txt
git reset --soft HEAD~1
git push
git push origin main
git push -u origin feature
git push --tags
git push --dry-run --force
git pull --rebase
git rebase main
git commit --amend --no-edit
git commit -m "mend; rm -rf was wrong"
git commit -m "Remove git checkout -- . and terraform destroy"
git log --grep="DROP TABLE"
git submodule update --init
git merge --abort
git diff -- .
git add -- .
git log -- src/app.ts
git show HEAD:src/app.ts
git fetch --prune
kubectl get pods
kubectl describe pod a
kubectl apply -f x.yml
kubectl auth can-i delete pods
kubectl delete pod a --dry-run=client
kubectl logs -f a
helm list
helm upgrade --install api .
docker ps
docker build -t a .
docker compose up -d
docker compose down
docker volume ls
docker run --rm -v x:/y image
npm publish --dry-run
npm run publish
npm test
npm install
npm view publish
cargo publish --dry-run
terraform plan
terraform plan -destroy
terraform init
terraform apply
terraform state list
pulumi preview
aws s3 ls
aws s3 cp a s3://b/a
aws ec2 describe-instances
gcloud compute instances list
az group list
gh pr list
gh pr create --title "kubectl delete" --body "rm -rf; DROP TABLE"
gh release list
grep -rn "DROP TABLE" migrations
rg "rm -rf" docs
grep DELETE src | head
echo "DROP TABLE x"
cat schema.sql
psql -c "SELECT * FROM users"
psql -c "DELETE FROM users WHERE id = 1"
psql -c "UPDATE users SET a = 1 WHERE id = 2"
psql -f schema.sql
mysql -e "SHOW TABLES"
sqlite3 app.db "select * from users"
sqlite3 app.db .tables
redis-cli GET flush
mongosh --eval "db.users.find({})"
rails db:migrate
prisma migrate dev
npx prisma generate
php artisan migrate
python manage.py test
python3 -c "print(1)"
python3 -c "import os; os.remove('a.txt')"
node -e "console.log(1)"
rm a.txt
rm -f dist/a.js
rm dist/*.js
rsync -a src/ dst/
rsync -an --delete src/ dst/
chmod +x a.sh
chmod 644 a.txt
chown me a.txt
crontab -l
kill 1234
kill -9 1234
find . -name "*.ts"
find . -type f -exec grep -l x {} +
truncate -s +1M a.img
dd if=a of=/dev/null
sed -i 's/DROP TABLE/x/' a.sql
npm run clean`

/** A here-document has more than one line: they belong together until its last word. */
function commandsOf(text: string): string[] {
  const commands: string[] = []
  let until: string | undefined
  for (const line of text.split('\n').filter(Boolean)) {
    if (until === undefined) commands.push(line)
    else commands.push(`${commands.pop()}\n${line}`)
    if (line === until) until = undefined
    else until ??= /<<(\w+)$/.exec(line)?.[1]
  }
  return commands
}

const dangerous = Object.entries(DANGEROUS).flatMap(([kind, text]) =>
  commandsOf(text).map(command => [kind, command] as const),
)

test.each(dangerous)('%s: %s', (kind, command) => {
  expect(risks(command).map(risk => risk.kind)).toContain(kind)
})

test('behind other commands and wrappers it is found, too', () => {
  const missed = dangerous
    .filter(([, command]) => !command.includes('\n') && !/^\(|"|'|\$/.test(command))
    .flatMap(([kind, command]) =>
      [
        `cd sub && ${command}`,
        `npm test; ${command}`,
        `sudo ${command}`,
        `sh -c '${command}'`,
        `(${command})`,
      ]
        .filter(form => !risks(form).some(risk => risk.kind === kind))
        .map(form => `${kind}: ${form}`),
    )
  expect(missed).toEqual([])
})

test('the table is long', () => {
  expect(dangerous.length).toBeGreaterThanOrEqual(120)
  expect(commandsOf(HONEST).length).toBeGreaterThanOrEqual(80)
})

test.each(commandsOf(HONEST))('honest: %s', command => {
  expect(risks(command)).toEqual([])
})

test('what going back restores is said, and where it restores nothing', () => {
  const words = (command: string) =>
    risks(command)
      .map(risk => risk.words)
      .join(' ')
  expect(words('git checkout -- .')).toContain('restores the files here that git does not ignore')
  expect(words('rm -rf dist')).toContain('restores the files here that git does not ignore')
  expect(words('rm -rf ~/x')).toContain('brings nothing back there')
  expect(words('git stash clear')).toContain('no branches, tags, stashes or commits')
  expect(words('terraform destroy')).toContain('changes nothing there')
  expect(words('psql -c "DROP TABLE a"')).toContain('brings none of it back')
})
