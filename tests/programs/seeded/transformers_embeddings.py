"""Sentence embeddings of a corpus by a BERT, collected with the graph that made them."""
import torch
from transformers import BertConfig, BertModel

torch.manual_seed(0)
model = BertModel(BertConfig(vocab_size=300, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                             intermediate_size=128), add_pooling_layer=False).eval()
corpus = torch.randint(0, 300, (96, 32))
vectors = []
for tokens in corpus.split(16):
    vectors.append(model(tokens).last_hidden_state[:, 0])  # bug
print(torch.cat(vectors).shape)
