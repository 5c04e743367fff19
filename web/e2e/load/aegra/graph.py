"""The smallest agent: what was said goes to the model, and its answer is kept."""

import os

from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph

llm = ChatOpenAI(model="script", base_url=os.environ["MODEL"] + "/v1", api_key="test", streaming=True)


async def answer(state: MessagesState) -> dict:
    return {"messages": [await llm.ainvoke(state["messages"])]}


flow = StateGraph(MessagesState)
flow.add_node("answer", answer)
flow.add_edge(START, "answer")
graph = flow.compile()
