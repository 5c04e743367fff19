-- deliver is the chat that results of a task are sent to, as JSON {provider, chat, topic}; '' sends them nowhere.
ALTER TABLE cron ADD COLUMN deliver TEXT NOT NULL DEFAULT '';
